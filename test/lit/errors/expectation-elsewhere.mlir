// RUN: not nn-opt --verify-diagnostics %s 2>&1 | filecheck %s

// CHECK:      expectation-elsewhere.mlir:8:4: error: expected error "is not registered" was not produced
// CHECK-NEXT: expected-error
// CHECK-NEXT: ^
// CHECK-NEXT:   hint: it came as error at line 9
// CHECK-NEXT: expectation-elsewhere.mlir:9:{{[0-9]+}}: error: unexpected error: 'a.b' is not registered
// expected-error@+2 {{is not registered}}
func.func private @f(!a.b)
