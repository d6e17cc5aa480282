// RUN: nn-opt --simplify-inference --split-input-file %s | filecheck %s

// scale / sqrt(var + epsilon) = 6 / sqrt(8 + 1) = 2, and bias - mean * 2 = 1 - 3 * 2 = -5.
// CHECK-LABEL: @constant_statistics_become_two_ops
func.func @constant_statistics_become_two_ops(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  // CHECK-DAG:   %[[S:.*]] = graph.constant dense<2.000000e+00> : tensor<1x1x1xf32>
  // CHECK-DAG:   %[[T:.*]] = graph.constant dense<-5.000000e+00> : tensor<1x1x1xf32>
  // CHECK:       %[[P:.*]] = graph.mul %x, %[[S]]
  // CHECK-NEXT:  graph.add %[[P]], %[[T]]
  // CHECK-NOT:   graph.batch_norm
  %scale = graph.constant dense<[6.0]> : tensor<1xf32>
  %bias = graph.constant dense<[1.0]> : tensor<1xf32>
  %mean = graph.constant dense<[3.0]> : tensor<1xf32>
  %var = graph.constant dense<[8.0]> : tensor<1xf32>
  %y = graph.batch_norm %x, %scale, %bias, %mean, %var epsilon 1.0 : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  func.return %y : tensor<1x1x4x4xf32>
}

// -----

// CHECK-LABEL: @statistics_known_at_run_time_become_arithmetic
func.func @statistics_known_at_run_time_become_arithmetic(%x: tensor<1x2x4xf32>, %s: tensor<2xf32>, %b: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> tensor<1x2x4xf32> {
  // CHECK:      %[[V:.*]] = graph.add %v
  // CHECK-NEXT: %[[D:.*]] = graph.sqrt %[[V]]
  // CHECK-NEXT: %[[F:.*]] = graph.div %s, %[[D]]
  // CHECK:      %[[C:.*]] = graph.sub %x
  // CHECK-NEXT: %[[P:.*]] = graph.mul %[[C]]
  // CHECK-NEXT: graph.add %[[P]]
  // CHECK-NOT:  graph.batch_norm
  %y = graph.batch_norm %x, %s, %b, %m, %v epsilon 1.0e-5 : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %y : tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: @dropout_is_nothing
func.func @dropout_is_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: func.return %x
  %y = graph.dropout %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
