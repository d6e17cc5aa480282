// RUN: nn-opt --widen-products --target=x86-64-v4 --split-input-file %s | filecheck %s
// RUN: nn-opt --widen-products --target=opencl --split-input-file %s | filecheck %s --check-prefix=SAME
// RUN: nn-opt --widen-products --target=cortex-m4 --split-input-file %s | filecheck %s --check-prefix=SAME

// SAME-NOT: graph.cast

// CHECK-LABEL: @matmul
// CHECK-DAG:   %[[A:.*]] = graph.cast %a : (tensor<5x64xf16>) -> tensor<5x64xf32>
// CHECK-DAG:   %[[B:.*]] = graph.cast %b : (tensor<64x8xf16>) -> tensor<64x8xf32>
// CHECK:       %[[Y:.*]] = graph.matmul %[[A]], %[[B]] : (tensor<5x64xf32>, tensor<64x8xf32>) -> tensor<5x8xf32>
// CHECK-NEXT:  graph.cast %[[Y]] : (tensor<5x8xf32>) -> tensor<5x8xf16>
func.func @matmul(%a: tensor<5x64xf16>, %b: tensor<64x8xf16>) -> tensor<5x8xf16> {
  %y = graph.matmul %a, %b : (tensor<5x64xf16>, tensor<64x8xf16>) -> tensor<5x8xf16>
  func.return %y : tensor<5x8xf16>
}

// -----

// The bias is added before the result is rounded.
// CHECK-LABEL: @conv
// CHECK:       graph.conv %{{.*}}, %{{.*}}, %{{.*}} strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 : (tensor<1x4x6x6xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT:  graph.cast {{.*}} -> tensor<1x2x4x4xbf16>
func.func @conv(%x: tensor<1x4x6x6xbf16>, %w: tensor<2x2x3x3xbf16>, %b: tensor<2xbf16>) -> tensor<1x2x4x4xbf16> {
  %y = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 : (tensor<1x4x6x6xbf16>, tensor<2x2x3x3xbf16>, tensor<2xbf16>) -> tensor<1x2x4x4xbf16>
  func.return %y : tensor<1x2x4x4xbf16>
}

// -----

// CHECK-LABEL: @conv_transpose
// CHECK:       graph.conv_transpose {{.*}} -> tensor<1x2x8xf32>
// CHECK-NEXT:  graph.cast {{.*}} -> tensor<1x2x8xf16>
func.func @conv_transpose(%x: tensor<1x4x6xf16>, %w: tensor<4x2x3xf16>) -> tensor<1x2x8xf16> {
  %y = graph.conv_transpose %x, %w strides [1] pads [0, 0] dilations [1] group 1 output_padding [0] : (tensor<1x4x6xf16>, tensor<4x2x3xf16>) -> tensor<1x2x8xf16>
  func.return %y : tensor<1x2x8xf16>
}

// -----

// Single floats, integers, and sums that are f32 already stay.
// CHECK-LABEL: @others
// CHECK-NOT:   graph.cast
func.func @others(%a: tensor<5x6xf32>, %c: tensor<5x6xi32>, %h: tensor<5x6xbf16>, %p: tensor<1x3x32x2xbf16>) -> (tensor<5x5xf32>, tensor<5x5xi32>, tensor<5x32xf32>) {
  %t = graph.transpose %a perm [1, 0] : (tensor<5x6xf32>) -> tensor<6x5xf32>
  %x = graph.matmul %a, %t : (tensor<5x6xf32>, tensor<6x5xf32>) -> tensor<5x5xf32>
  %u = graph.transpose %c perm [1, 0] : (tensor<5x6xi32>) -> tensor<6x5xi32>
  %y = graph.matmul %c, %u : (tensor<5x6xi32>, tensor<6x5xi32>) -> tensor<5x5xi32>
  %z = graph.matmul %h, %p weight_layout "NK32n2k" wide : (tensor<5x6xbf16>, tensor<1x3x32x2xbf16>) -> tensor<5x32xf32>
  func.return %x, %y, %z : tensor<5x5xf32>, tensor<5x5xi32>, tensor<5x32xf32>
}
