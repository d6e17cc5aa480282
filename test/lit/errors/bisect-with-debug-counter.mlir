// RUN: not nn-opt --bisect=true --debug-counter=cse=1 --cse %s 2>&1 | filecheck %s

// CHECK:      error: --bisect sets the counters itself: leave out --debug-counter
func.func @f() {
  func.return
}
