// RUN: not nn-opt --bisect= --cse %s 2>&1 | filecheck %s

// CHECK:      error: --bisect is empty, expected a command
func.func @f() {
  func.return
}
