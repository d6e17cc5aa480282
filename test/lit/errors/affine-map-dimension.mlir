// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{Identifier not in space d1}}
func.func private @f() attributes {m = affine_map<(d0) -> (d1)>}
