// RUN: nn-opt --apply-schedule --split-input-file --verify-diagnostics %s

func.func @copy(%x: memref<6xf32>, %y: memref<6xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %m = 0 to 6 {
    loop.block "copy" (%i = %m : par 6) {
      %a = loop.load %x[%i] : memref<6xf32>
      loop.store %a, %y[%i] : memref<6xf32>
    }
  }
  func.return
}
sched.script for @copy {
  %m = sched.axes 1 of "copy"
  // expected-error@+1 {{split: 4 does not divide the 6 iterations of %m}}
  %mo, %mi = sched.split %m by 4 tail exact
}

// -----

func.func @copy(%x: memref<6xf32>, %y: memref<6xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %m = 0 to 6 {
    loop.block "copy" (%i = %m : par 6) {
      %a = loop.load %x[%i] : memref<6xf32>
      loop.store %a, %y[%i] : memref<6xf32>
    }
  }
  func.return
}
sched.script for @copy {
  // expected-error@+1 {{stage 'copy' is in 1 loops, not 2}}
  %m, %n = sched.axes 2 of "copy"
}

// -----

// expected-error@+1 {{there is no function @missing}}
sched.script for @missing {
  sched.inline "copy"
}
