// RUN: not nn-opt -o "" %s 2>&1 | filecheck %s

// CHECK:      error: the name of a file to write is empty
func.func @f() {
  func.return
}
