// RUN: not nn-opt '--compile{nothing=1}' %s 2>&1 | filecheck %s

// CHECK:      error: no pass of --compile has an option 'nothing'
// CHECK-NEXT:   hint: there are
func.func @f() {
  func.return
}
