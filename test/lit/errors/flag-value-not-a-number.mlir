// RUN: not nn-opt --check=much %s 2>&1 | filecheck %s

// CHECK:      error: argument --check: invalid float value: 'much'
func.func @f() {
  func.return
}
