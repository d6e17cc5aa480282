// RUN: not nn-opt --debug-info %s 2>&1 | filecheck %s

// CHECK:      error: --debug-info needs --emit=llvm-ir
// CHECK-NEXT:   hint: --print-locations shows the places of IR
func.func @f() {
  func.return
}
