// RUN: not nn-opt --dim=N=4 %s 2>&1 | filecheck %s

// CHECK:      error: --dim is for models, and this is IR
// CHECK-NEXT:   hint: write the sizes into the types
func.func @f() {
  func.return
}
