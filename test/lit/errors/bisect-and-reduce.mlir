// RUN: not nn-opt --bisect=true --reduce=true %s 2>&1 | filecheck %s

// CHECK:      error: --bisect and --reduce do not go together
// CHECK-NEXT:   hint: reduce what --bisect writes
func.func @f() {
  func.return
}
