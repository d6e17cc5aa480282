// Passes count what they do; a pass that ran twice has one table, one without counters none.
// RUN: nn-opt --statistics --infer-shapes --canonicalize --fold-constants --cse --dce --fuse-ops --cse %s 2>&1 >%t | filecheck %s
// RUN: nn-opt --statistics=json --pass-pipeline='func.func(cse,dce)' %s 2>&1 >%t | filecheck %s --check-prefix=JSON
// RUN: nn-opt --pass-help=cse | filecheck %s --check-prefix=HELP
// RUN: nn-opt --cse %s 2>&1 >%t | filecheck %s --check-prefix=NONE --allow-empty

// CHECK:      Pass statistics report
// CHECK-NOT:  infer-shapes
// CHECK:      {{^}}canonicalize{{$}}
// CHECK-NEXT:   (S) 1 patterns-applied - patterns that changed something
// CHECK-NEXT:   (S) 3 ops-erased       - operations that are gone
// CHECK-NEXT:   (S) 0 ops-inserted     - operations that are new
// CHECK-NEXT: {{^}}fold-constants{{$}}
// CHECK-NEXT:   (S) 1 ops-folded
// CHECK-NEXT:   (S) 8 bytes-made
// CHECK-NEXT:   (S) 0 ops-kept
// CHECK-NEXT: {{^}}cse{{$}}
// CHECK-NEXT:   (S) 1 ops-merged
// CHECK-NEXT: {{^}}dce{{$}}
// CHECK-NEXT:   (S) 0 ops-erased
// CHECK-NEXT: {{^}}fuse-ops{{$}}
// CHECK-NEXT:   (S) 1 kernels-formed
// CHECK-NEXT:   (S) 3 ops-fused
// CHECK-NOT:  cse
// JSON:       {
// JSON-NEXT:   "cse": {
// JSON-NEXT:    "ops-merged": 1
// JSON-NEXT:   },
// JSON-NEXT:   "dce": {
// JSON-NEXT:    "ops-erased": 1
// JSON-NEXT:   }
// JSON-NEXT:  }
// HELP:       statistics
// HELP-NEXT:  ops-merged  operations replaced by an equal one
// NONE-NOT:   statistics
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = graph.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %s = graph.sqrt %c : tensor<2xf32>
  %u = graph.exp %x : tensor<2xf32>
  %a = graph.relu %x : tensor<2xf32>
  %b = graph.relu %x : tensor<2xf32>
  %y = graph.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %z = graph.add %y, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %z : tensor<2xf32>
}
func.func @g(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %y = arith.mulf %x, %one : f32
  func.return %y : f32
}
