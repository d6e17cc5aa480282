// RUN: not nn-opt --pass-pipeline='func.func(outline-kernels)' %s 2>&1 | filecheck %s

// CHECK:      --pass-pipeline:1:11: error: --outline-kernels needs the whole module
// CHECK-NEXT:   func.func(outline-kernels)
// CHECK-NEXT:             ^
// CHECK-NEXT:   hint: name it outside of func.func(...)
func.func @f() {
  func.return
}
