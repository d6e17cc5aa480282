// RUN: not nn-opt --debug-counter=cse %s 2>&1 | filecheck %s

// CHECK:      error: --debug-counter is 'cse', expected PASS=NUMBER
func.func @f() {
  func.return
}
