// RUN: not nn-opt --debug-counter=css=1 %s 2>&1 | filecheck %s

// CHECK:      error: --debug-counter: unknown pass 'css'
// CHECK-NEXT:   hint: did you mean cse?
func.func @f() {
  func.return
}
