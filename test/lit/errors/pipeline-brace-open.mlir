// RUN: not nn-opt --pass-pipeline='cse{a=1' %s 2>&1 | filecheck %s

// CHECK:      --pass-pipeline:1:4: error: this '{' has no '}' after it, or a quote is left open
// CHECK-NEXT:   cse{a=1
// CHECK-NEXT:      ^
func.func @f() {
  func.return
}
