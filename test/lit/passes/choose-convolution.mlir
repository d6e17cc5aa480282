// RUN: nn-opt --choose-convolution --fold-constants --split-input-file %s | filecheck %s
// RUN: nn-opt --choose-convolution{winograd=off} --split-input-file %s | filecheck %s --check-prefix=OFF
// RUN: nn-opt --target=js --choose-convolution --split-input-file %s | filecheck %s --check-prefix=OFF
// RUN: nn-opt --choose-convolution{winograd=force2} --split-input-file %s | filecheck %s --check-prefix=TWO
// RUN: nn-opt --choose-convolution --split-input-file --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// Fewer multiplications; the weights are transformed at compile time.
// REMARK: remark: graph.conv: winograd4: direct {{.*}} us, winograd2 {{.*}} us, winograd4 {{.*}} us [choose-convolution]
// CHECK-LABEL: @three_by_three
// CHECK-NEXT:    %[[W:.*]] = graph.constant #graph.resource<"{{.*}}"> : tensor<6x6x2x2x16x16xf32>
// CHECK-NEXT:    graph.conv %x, %[[W]] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" algorithm "winograd4" :
// OFF-LABEL:   @three_by_three
// OFF-NOT:       algorithm
// TWO-LABEL:   @three_by_three
// TWO:           %[[W:.*]] = graph.winograd_weights %w tile 2 : (tensor<2x2x3x3x16x16xf32>) -> tensor<4x4x2x2x16x16xf32>
// TWO-NEXT:      graph.conv %x, %[[W]] {{.*}} algorithm "winograd2" :
func.func @three_by_three(%x: tensor<1x2x28x28x16xf32>) -> tensor<1x2x28x28x16xf32> {
  %w = graph.constant dense<0.5> : tensor<2x2x3x3x16x16xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x2x28x28x16xf32>, tensor<2x2x3x3x16x16xf32>) -> tensor<1x2x28x28x16xf32>
  func.return %y : tensor<1x2x28x28x16xf32>
}

// -----

// A stride of 2 uses too few of the tile's results.
// CHECK-LABEL: @stride
// CHECK-NOT:     algorithm
// TWO-LABEL:   @stride
// TWO-NOT:       algorithm
func.func @stride(%x: tensor<1x2x28x28x16xf32>) -> tensor<1x2x14x14x16xf32> {
  %w = graph.constant dense<0.5> : tensor<2x2x3x3x16x16xf32>
  %y = graph.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x2x28x28x16xf32>, tensor<2x2x3x3x16x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}

// -----

// Weights that are computed at run time would be transformed at each run.
// CHECK-LABEL: @weights_at_run_time
// CHECK-NOT:     algorithm
func.func @weights_at_run_time(%x: tensor<1x2x28x28x16xf32>, %w: tensor<2x2x3x3x16x16xf32>) -> tensor<1x2x28x28x16xf32> {
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x2x28x28x16xf32>, tensor<2x2x3x3x16x16xf32>) -> tensor<1x2x28x28x16xf32>
  func.return %y : tensor<1x2x28x28x16xf32>
}
