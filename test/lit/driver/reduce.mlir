// What stays is a small module on which the command still exits with 0.
// RUN: nn-opt --reduce="grep -q arith.xori" -o %t.out %s 2>%t.err
// RUN: filecheck %s <%t.out
// RUN: filecheck %s --check-prefix=PROGRESS <%t.err
// RUN: nn-opt --reduce="grep -q 'arith.divsi.* : i32'" %s 2>%t.err | filecheck %s --check-prefix=BRANCH
// RUN: nn-opt --reduce="grep -q graph.softmax" %s 2>%t.err | filecheck %s --check-prefix=SIZES
// RUN: nn-opt --fold-constants --reduce="sh -c 'grep -q resource {} && nn-opt --weights={}.safetensors --inline-weights {} | grep -q -e -5.0'" %s 2>%t.err | filecheck %s --check-prefix=WEIGHTS
// RUN: nn-opt --reduce="grep -q graph.slice" %s 2>%t.err | filecheck %s --check-prefix=SLICE
// RUN: nn-opt --reduce="grep -q graph.pool" %s 2>%t.err | filecheck %s --check-prefix=FOLLOWS
// RUN: not nn-opt --reduce="grep -q no.such.thing" %s 2>&1 | filecheck %s --check-prefix=DULL

// CHECK: %[[A:.*]] = arith.constant 0 : i32
// CHECK: arith.xori %[[A]], %[[A]] : i32
// CHECK-NEXT: }
// PROGRESS: reduce: operations: {{[0-9]+ -> [0-9]+}} operations, {{[0-9]+}} bytes, {{[0-9]+}} runs
// BRANCH: %[[A:.*]] = arith.constant 0 : i32
// BRANCH-NEXT: arith.divsi %[[A]], %[[A]] : i32
// BRANCH-NEXT: }
// SIZES: func.func @graph(%[[X:.*]]: tensor<1x1xf32>)
// SIZES-NEXT: graph.softmax %[[X]] axis 1 : tensor<1x1xf32>
// WEIGHTS: graph.constant #graph.resource<"{{.*}}"> : tensor<
// SLICE: func.func @graph(%[[X:.*]]: tensor<1x2xf32>)
// SLICE-NEXT: graph.slice %[[X]] starts [0, 1] sizes [1, 1]
// FOLLOWS: graph.pool {{.*}} : {{.*}}tensor<1x1x1x1xf32>
// DULL: error: --reduce: the command fails on the input already
// DULL: hint: it has to exit with 0 as long as the input is interesting
func.func private @double(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
}
func.func @control(%c: i1, %a: i32, %n: index) -> i32 {
  %z = arith.constant 0 : index
  %o = arith.constant 1 : index
  %k = func.call @double(%a) : (i32) -> i32
  %r = scf.if %c -> (i32) {
    %m = arith.muli %k, %a : i32
    %d = arith.divsi %m, %k : i32
    scf.yield %d : i32
  } else {
    scf.yield %a : i32
  }
  cf.cond_br %c, ^one(%r : i32), ^two
^one(%p: i32):
  %q = arith.addi %p, %r : i32
  cf.br ^end(%q : i32)
^two:
  %t = arith.subi %a, %k : i32
  cf.br ^end(%t : i32)
^end(%e: i32):
  scf.for %i = %z to %n step %o {
    %u = arith.remsi %e, %k : i32
    %w = arith.xori %u, %k : i32
    scf.yield
  }
  func.return %e : i32
}
func.func @graph(%x: tensor<6x64xf32>) -> (tensor<6x64xf32>, tensor<6x8xf32>) {
  %w = graph.constant dense<0.5> : tensor<6x64xf32>
  %v = graph.neg %w : tensor<6x64xf32>
  %y = graph.mul %x, %v : (tensor<6x64xf32>, tensor<6x64xf32>) -> tensor<6x64xf32>
  %z = graph.softmax %y axis 1 : tensor<6x64xf32>
  %s = graph.slice %z starts [0, 8] sizes [6, 8] steps [1, 1] : (tensor<6x64xf32>) -> tensor<6x8xf32>
  func.return %z, %s : tensor<6x64xf32>, tensor<6x8xf32>
}
func.func @pool(%x: tensor<1x4x111x111xf32>) -> tensor<1x4x55x55xf32> {
  %y = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x4x111x111xf32>) -> tensor<1x4x55x55xf32>
  func.return %y : tensor<1x4x55x55xf32>
}
