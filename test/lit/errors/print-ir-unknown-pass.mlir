// RUN: not nn-opt --print-ir-after=css --cse %s 2>&1 | filecheck %s

// CHECK:      error: --print-ir-after: unknown pass 'css'
// CHECK-NEXT:   hint: did you mean cse?
func.func @f() {
  func.return
}
