// RUN: not nn-opt '--cse{fast=1}' %s 2>&1 | filecheck %s

// CHECK:      error: --cse has no option 'fast'
// CHECK-NEXT:   hint: it has none
func.func @f() {
  func.return
}
