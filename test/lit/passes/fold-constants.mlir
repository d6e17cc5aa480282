// RUN: nn-opt --fold-constants --split-input-file %s | filecheck %s
// RUN: nn-opt --fold-constants --split-input-file --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @constants_are_added_now
func.func @constants_are_added_now() -> tensor<2xf32> {
  // CHECK-NEXT: %[[C:.*]] = graph.constant dense<[4.000000e+00, 6.000000e+00]>
  // CHECK-NEXT: func.return %[[C]]
  %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %c = graph.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// -----

// CHECK-LABEL: @an_argument_stops_folding
func.func @an_argument_stops_folding(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: graph.add
  %b = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %c = graph.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// -----

// CHECK-LABEL: @layout_transforms_pack_weights
func.func @layout_transforms_pack_weights() -> tensor<1x4xf32> {
  // CHECK-NEXT: graph.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00, 0.000000e+00]]>
  %a = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %c = graph.layout_transform %a from "C" to "C4c" sizes [3] : (tensor<3xf32>) -> tensor<1x4xf32>
  func.return %c : tensor<1x4xf32>
}

// -----

// REMARK: remark: graph.expand: kept: 4 bytes of constants would become 400000 [fold-constants]
// CHECK-LABEL: @a_blow_up_stays
func.func @a_blow_up_stays() -> tensor<100000xf32> {
  // CHECK: graph.expand
  %a = graph.constant dense<1.0> : tensor<1xf32>
  %c = graph.expand %a : (tensor<1xf32>) -> tensor<100000xf32>
  func.return %c : tensor<100000xf32>
}

// -----

// CHECK-LABEL: @constants_nobody_reads_are_erased
func.func @constants_nobody_reads_are_erased(%x: tensor<1xf32>) -> tensor<1xf32> {
  // CHECK-NEXT: func.return
  %a = graph.constant dense<1.0> : tensor<1xf32>
  func.return %x : tensor<1xf32>
}
