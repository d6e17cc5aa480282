// RUN: not nn-opt --reduce="'" --cse %s 2>&1 | filecheck %s

// CHECK:      error: --reduce is ''': No closing quotation
func.func @f() {
  func.return
}
