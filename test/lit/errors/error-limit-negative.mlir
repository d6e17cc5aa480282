// RUN: not nn-opt --error-limit=-3 %s 2>&1 | filecheck %s

// CHECK:      error: --error-limit is -3, expected at least 0
func.func @f() {
  func.return
}
