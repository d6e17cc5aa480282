// A pass is left out wherever it is; the dump of what a failed pass left is in the generic form.
// RUN: nn-opt --disable-pass=cse --canonicalize --cse %s | filecheck %s
// RUN: nn-opt --disable-pass=cse,dce --disable-pass infer-shapes --pass-pipeline='func.func(cse,dce)' --timing %s 2>&1 >%t | filecheck %s --check-prefix=TIME
// RUN: not nn-opt --disable-pass=csee --cse %s 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not nn-opt --print-ir-after-failure --cse --convert-loop-to-llvm %s 2>&1 | filecheck %s --check-prefix=FAILED
// RUN: nn-opt --print-ir-after-failure --cse %s 2>&1 >%t | filecheck %s --check-prefix=NONE --allow-empty

// CHECK-COUNT-2: graph.relu
// TIME:          0.0000 (  0.0%)  func.func
// TIME-NEXT:     0.0000 (  0.0%)    cse
// TIME-NEXT:     0.0000 (  0.0%)    dce
// NAME:          error: --disable-pass: unknown pass 'csee'
// NAME-NEXT:     hint: did you mean cse?
// FAILED:        IR Dump After convert-loop-to-llvm Failed
// FAILED:        "graph.relu"
// FAILED:        error: graph.relu: --convert-loop-to-llvm has no rule
// NONE-NOT:      IR Dump
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = graph.relu %x : tensor<2xf32>
  %b = graph.relu %x : tensor<2xf32>
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}
