// RUN: nn-opt --verify-diagnostics --insert-timers %s

// expected-error@+1 {{has no llvm.func @nn_main}}
module {
  llvm.func @nn_main()
}
