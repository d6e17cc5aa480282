// RUN: not nn-opt --emit=wasm %s 2>&1 | filecheck %s

// CHECK:      error: argument --emit: invalid choice: 'wasm' (choose from {{.*}}llvm-ir
// CHECK-NEXT:   hint: --help lists the options
func.func @f() {
  func.return
}
