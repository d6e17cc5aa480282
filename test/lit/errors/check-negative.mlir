// RUN: not nn-opt --check=-1 --cse %s 2>&1 | filecheck %s

// CHECK:      error: --check is -1.0, expected at least 0
func.func @f() {
  func.return
}
