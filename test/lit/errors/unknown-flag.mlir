// RUN: not nn-opt --qqqqqqqq %s 2>&1 | filecheck %s

// CHECK:      error: unknown pass or option '--qqqqqqqq'
// CHECK-NEXT:   hint: --list-passes lists the passes, --help the rest
func.func @f() {
  func.return
}
