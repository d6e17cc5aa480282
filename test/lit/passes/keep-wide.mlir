// RUN: nn-opt --keep-wide --split-input-file %s | filecheck %s

// Nobody else reads the bytes, and x is clipped to what they hold: it stays a rounded float.
// CHECK-LABEL: @residual
// CHECK:       %[[R:.*]] = graph.round
// CHECK-NEXT:  %[[Y:.*]] = graph.mul %[[R]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  graph.yield %[[Y]]
func.func @residual(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %s = graph.constant dense<2.0> : tensor<4xf32>
    %low = graph.constant dense<-3.0> : tensor<f32>
    %high = graph.constant dense<252.0> : tensor<f32>
    %z = graph.constant dense<3> : tensor<i32>
    %c = graph.clip %a low %low high %high : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
    %r = graph.round %c : tensor<4xf32>
    %i = graph.cast %r : (tensor<4xf32>) -> tensor<4xi32>
    %j = graph.add %i, %z : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %b = graph.cast %j : (tensor<4xi32>) -> tensor<4xui8>
    %w = graph.cast %b : (tensor<4xui8>) -> tensor<4xi32>
    %d = graph.sub %w, %z : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %f = graph.cast %d : (tensor<4xi32>) -> tensor<4xf32>
    %m = graph.mul %f, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %m : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// What bytes cannot hold wraps.
// CHECK-LABEL: @wraps
// CHECK:       graph.cast %{{.*}} : (tensor<4xi32>) -> tensor<4xui8>
// CHECK-NEXT:  graph.cast %{{.*}} : (tensor<4xui8>) -> tensor<4xi32>
func.func @wraps(%x: tensor<4xf32>) -> tensor<4xi32> {
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xi32>) {
    %low = graph.constant dense<-3.0> : tensor<f32>
    %high = graph.constant dense<252.0> : tensor<f32>
    %c = graph.clip %a low %low high %high : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
    %r = graph.round %c : tensor<4xf32>
    %i = graph.cast %r : (tensor<4xf32>) -> tensor<4xi32>
    %b = graph.cast %i : (tensor<4xi32>) -> tensor<4xui8>
    %w = graph.cast %b : (tensor<4xui8>) -> tensor<4xi32>
    graph.yield %w : tensor<4xi32>
  }
  func.return %y : tensor<4xi32>
}

// -----

// Between kernels bytes are shorter.
// CHECK-LABEL: @apart
// CHECK:       graph.cast %{{.*}} : (tensor<4xi32>) -> tensor<4xui8>
// CHECK-NEXT:  graph.cast %{{.*}} : (tensor<4xui8>) -> tensor<4xi32>
func.func @apart(%x: tensor<4xf32>) -> tensor<4xi32> {
  %low = graph.constant dense<0.0> : tensor<f32>
  %high = graph.constant dense<255.0> : tensor<f32>
  %c = graph.clip %x low %low high %high : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %r = graph.round %c : tensor<4xf32>
  %i = graph.cast %r : (tensor<4xf32>) -> tensor<4xi32>
  %b = graph.cast %i : (tensor<4xi32>) -> tensor<4xui8>
  %w = graph.cast %b : (tensor<4xui8>) -> tensor<4xi32>
  func.return %w : tensor<4xi32>
}
