// RUN: not nn-opt --verify-diagnostics %s 2>&1 | filecheck %s

// CHECK:      expectation-bad-regex.mlir:4:4: error: 'unknown {{.*}} here' holds no regular expression: unterminated character set
// expected-error-re@+1 {{unknown {{[}} here}}
func.func private @f()
