// RUN: not nn-opt --verify-diagnostics %s 2>&1 | filecheck %s

// CHECK:      expectation-too-often.mlir:4:4: error: expected error "is not registered" was produced 1 time(s), expected 2
// expected-error@+1 2 {{is not registered}}
func.func private @f(!a.b)
