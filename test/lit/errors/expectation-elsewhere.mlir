// RUN: not nn-opt --verify-diagnostics %s 2>&1 | filecheck %s

// CHECK:      expectation-elsewhere.mlir:8:1: error: expected error "is not registered" was not produced
// CHECK-NEXT:   hint: it came as error at line 7
// CHECK-NEXT: expectation-elsewhere.mlir:7:1: error: unexpected error: 'a.b' is not registered
// expected-error@+2 {{is not registered}}
func.func private @f(!a.b)
