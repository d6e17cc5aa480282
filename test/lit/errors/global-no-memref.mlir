// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{expected the type of a memref}}
memref.global @g : tensor<2xf32>
