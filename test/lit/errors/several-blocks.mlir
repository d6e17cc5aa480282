// A function that branches between blocks is none of those that the compiler makes: what walks along
// one block says so.
// RUN: not nn-opt --fuse-ops %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=fuse-ops
// RUN: not nn-opt --convert-graph-to-tensor %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=convert-graph-to-tensor
// RUN: not nn-opt --convert-tensor-to-loop %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=convert-tensor-to-loop
// RUN: not nn-opt --default-schedules %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=default-schedules
// RUN: not nn-opt --plan-memory %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=plan-memory
// RUN: not nn-opt --convert-loop-to-llvm %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=convert-loop-to-llvm
// RUN: not nn-opt --convert-loop-to-scf %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=convert-loop-to-scf
// RUN: not nn-opt --emit=js %s 2>&1 | filecheck %s --check-prefix=GRAPH -DSTEP=emit=js
// RUN: nn-opt --canonicalize --cse --dce %s -o %t

// GRAPH: several-blocks.mlir:16:1: error: func.func: has 3 blocks, --[[STEP]] takes one
// GRAPH: hint: say control flow by structured operations, or outside of this function
// GRAPH: error: func.func: has 2 blocks, --[[STEP]] takes one
func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4xf32>
  cf.cond_br %c, ^a, ^b
^a:
  %1 = graph.relu %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
^b:
  func.return %0 : tensor<4xf32>
}
func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kernel} {
  cf.br ^a
^a:
  %0 = graph.relu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
