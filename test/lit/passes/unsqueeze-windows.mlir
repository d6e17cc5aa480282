// RUN: nn-opt --unsqueeze-windows %s | filecheck %s

// CHECK-LABEL: @chain
func.func @chain(%x: tensor<2x4x9xf32>, %r: tensor<2x4x9xf32>, %b: tensor<4x1xf32>) -> tensor<2x4x5xf32> {
  // CHECK:      %[[X:.*]] = graph.reshape %x : (tensor<2x4x9xf32>) -> tensor<2x4x1x9xf32>
  // CHECK-NEXT: %[[W:.*]] = graph.constant {{.*}} : tensor<4x4x1x3xf32>
  // CHECK-NEXT: %[[C:.*]] = graph.conv %[[X]], %[[W]] strides [1, 1] pads [0, 2, 0, 0] dilations [1, 1] group 1
  // CHECK-NEXT: %[[B:.*]] = graph.reshape %b : (tensor<4x1xf32>) -> tensor<4x1x1xf32>
  // CHECK-NEXT: %[[A:.*]] = graph.add %[[C]], %[[B]]
  // CHECK-NEXT: %[[U:.*]] = graph.relu %[[A]] : tensor<2x4x1x9xf32>
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %r : (tensor<2x4x9xf32>) -> tensor<2x4x1x9xf32>
  // CHECK-NEXT: %[[S:.*]] = graph.add %[[R]], %[[U]]
  // CHECK-NEXT: %[[P:.*]] = graph.pool %[[S]] kind "average" kernel [1, 3] strides [1, 2] pads [0, 1, 0, 1] dilations [1, 1]{{.*}} -> tensor<2x4x1x5xf32>
  // CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[P]] : (tensor<2x4x1x5xf32>) -> tensor<2x4x5xf32>
  // CHECK-NEXT: func.return %[[Y]]
  %w = graph.constant dense<1.0> : tensor<4x4x3xf32>
  %c = graph.conv %x, %w strides [1] pads [2, 0] dilations [1] group 1 : (tensor<2x4x9xf32>, tensor<4x4x3xf32>) -> tensor<2x4x9xf32>
  %a = graph.add %c, %b : (tensor<2x4x9xf32>, tensor<4x1xf32>) -> tensor<2x4x9xf32>
  %u = graph.relu %a : tensor<2x4x9xf32>
  %s = graph.add %r, %u : (tensor<2x4x9xf32>, tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %p = graph.pool %s kind "average" kernel [3] strides [2] pads [1, 1] dilations [1] : (tensor<2x4x9xf32>) -> tensor<2x4x5xf32>
  func.return %p : tensor<2x4x5xf32>
}

// CHECK-LABEL: @images_stay
func.func @images_stay(%x: tensor<1x4x9x9xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x7x7xf32> {
  // CHECK-NOT: graph.reshape
  %c = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x4x9x9xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x7x7xf32>
  func.return %c : tensor<1x4x7x7xf32>
}

// CHECK-LABEL: @wider_results_stay
func.func @wider_results_stay(%x: tensor<1x4x9xf32>, %w: tensor<4x4x1xf32>, %r: tensor<2x4x9xf32>) -> tensor<2x4x9xf32> {
  // What is broadcast to more than its own shape is reshaped first.
  // CHECK: graph.conv %{{.*}} -> tensor<1x4x1x9xf32>
  // CHECK: %[[S:.*]] = graph.reshape %{{.*}} : (tensor<1x4x1x9xf32>) -> tensor<1x4x9xf32>
  // CHECK: graph.add %[[S]], %r : (tensor<1x4x9xf32>, tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %c = graph.conv %x, %w strides [1] pads [0, 0] dilations [1] group 1 : (tensor<1x4x9xf32>, tensor<4x4x1xf32>) -> tensor<1x4x9xf32>
  %s = graph.add %c, %r : (tensor<1x4x9xf32>, tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  func.return %s : tensor<2x4x9xf32>
}
