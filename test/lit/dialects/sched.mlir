// RUN: nn-opt %s | nn-opt | filecheck %s
// RUN: nn-opt --print-op-generic %s | nn-opt | filecheck %s

// CHECK-LABEL: sched.script for @conv
sched.script for @conv {
  // CHECK-NEXT: %n, %f, %p, %q = sched.axes 4 of "conv"
  %n, %f, %p, %q = sched.axes 4 of "conv"
  // CHECK-NEXT: %qo, %qi = sched.split %q by 14
  %qo, %qi = sched.split %q by 14
  // CHECK-NEXT: %po, %pi = sched.split %p by 7 tail exact
  %po, %pi = sched.split %p by 7 tail exact
  // CHECK-NEXT: sched.reorder %n, %f, %qo, %po, %qi, %pi
  sched.reorder %n, %f, %qo, %po, %qi, %pi
  // CHECK-NEXT: %nf = sched.fuse %n, %f
  %nf = sched.fuse %n, %f
  // CHECK-NEXT: %a, %b, %c, %d = sched.tile %qi, %pi by 4, 8
  %a, %b, %c, %d = sched.tile %qi, %pi by 4, 8
  // CHECK-NEXT: sched.unroll %a
  sched.unroll %a
  // CHECK-NEXT: sched.vectorize %d
  sched.vectorize %d
  // CHECK-NEXT: sched.tensorize %c as "dot_bf16x2"
  sched.tensorize %c as "dot_bf16x2"
  // CHECK-NEXT: sched.parallel %nf
  sched.parallel %nf
  // CHECK-NEXT: sched.bind %b to "block_x"
  sched.bind %b to "block_x"
  // CHECK-NEXT: sched.cache_write "conv"
  sched.cache_write "conv"
  // CHECK-NEXT: sched.cache_read "conv" operand 0
  sched.cache_read "conv" operand 0
  // CHECK-NEXT: sched.compute_at "conv.in0" at %nf
  sched.compute_at "conv.in0" at %nf
  // CHECK-NEXT: sched.reverse_compute_at "conv.copy" at %nf
  sched.reverse_compute_at "conv.copy" at %nf
  // CHECK-NEXT: sched.decompose_init "conv" at %nf
  sched.decompose_init "conv" at %nf
  // CHECK-NEXT: sched.rfactor "conv" at %nf
  sched.rfactor "conv" at %nf
  // CHECK-NEXT: sched.inline "bias"
  sched.inline "bias"
  // CHECK-NEXT: sched.prefetch "conv" operand 1 ahead 4096
  sched.prefetch "conv" operand 1 ahead 4096
  // CHECK-NEXT: sched.set_scope "conv" in "register"
  sched.set_scope "conv" in "register"
  // CHECK-NEXT: sched.reindex "conv" operand 1 by [2, 0]
  sched.reindex "conv" operand 1 by [2, 0]
  // CHECK-NEXT: sched.storage_align "conv.in0" to 32 offset 4
  sched.storage_align "conv.in0" to 32 offset 4
  // CHECK-NEXT: sched.double_buffer "conv.in0" at %nf
  sched.double_buffer "conv.in0" at %nf
  // CHECK-NEXT: sched.fission %nf
  sched.fission %nf
  // CHECK-NEXT: sched.pad %nf to 8
  sched.pad %nf to 8
  // CHECK-NEXT: %j = sched.join %nf, %c
  %j = sched.join %nf, %c
  // CHECK-NEXT: sched.permute "conv" by [1, 0]
  sched.permute "conv" by [1, 0]
}
