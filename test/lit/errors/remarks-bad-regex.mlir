// RUN: not nn-opt '--remarks=[' %s 2>&1 | filecheck %s

// CHECK:      error: --remarks is '[': unterminated character set at position 0
func.func @f() {
  func.return
}
