// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{integer bitwidth is limited to 16777215 bits}}
func.func private @f(i99999999)
