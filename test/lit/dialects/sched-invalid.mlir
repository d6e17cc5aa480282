// RUN: nn-opt --split-input-file --verify-diagnostics %s

sched.script for @conv {
  %n = sched.axes 1 of "conv"
  %no, %ni = sched.split %n by 14
  // expected-error@+1 {{uses a loop that sched.split at}}
  sched.unroll %n
}

// -----

sched.script for @conv {
  %n = sched.axes 1 of "conv"
  // expected-error@+1 {{tail is 'sometimes', expected one of guard, exact}}
  %no, %ni = sched.split %n by 14 tail sometimes
}
