// RUN: not nn-opt --target=pentium %s 2>&1 | filecheck %s

// CHECK:      error: unknown target 'pentium'
// CHECK-NEXT:   hint: the targets are host, cpu, x86-64, x86-64-v2
func.func @f() {
  func.return
}
