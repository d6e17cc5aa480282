// RUN: nn-opt --lower-precision{precision=bf16} --target=zen4 --split-input-file %s | filecheck %s
// RUN: nn-opt --lower-precision --target=zen4 --split-input-file %s | filecheck %s --check-prefix=OFF

// The image is rounded once, where it is made; the pointwise reader takes that, too.
// CHECK-LABEL: @residual
// CHECK:       %r = graph.relu %x
// CHECK-NEXT:  %[[X:.*]] = graph.cast %r : (tensor<1x1x4x4x16xf32>) -> tensor<1x1x4x4x16xbf16>
// CHECK:       %[[W:.*]] = graph.cast %w
// CHECK-NEXT:  %[[P:.*]] = graph.layout_transform %[[W]] from "OIHW" to "OIHW8i16o2i"
// CHECK-NEXT:  %[[C:.*]] = graph.conv %[[X]], %[[P]] {{.*}} weight_layout "OIHW8i16o2i" wide : ({{.*}}) -> tensor<1x1x4x4x16xf32>
// CHECK-NEXT:  %[[R:.*]] = graph.cast %[[X]] : (tensor<1x1x4x4x16xbf16>) -> tensor<1x1x4x4x16xf32>
// CHECK-NEXT:  graph.add %[[C]], %[[R]]
// OFF-LABEL:   @residual
// OFF-NOT:     bf16
func.func @residual(%x: tensor<1x1x4x4x16xf32>) -> tensor<1x1x4x4x16xf32> {
  %w = graph.constant dense<1.0> : tensor<16x16x1x1xf32>
  %v = graph.layout_transform %w from "OIHW" to "OIHW16i16o" sizes [16, 16, 1, 1] : (tensor<16x16x1x1xf32>) -> tensor<1x1x1x1x16x16xf32>
  %r = graph.relu %x : tensor<1x1x4x4x16xf32>
  %c = graph.conv %r, %v strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x1x4x4x16xf32>, tensor<1x1x1x1x16x16xf32>) -> tensor<1x1x4x4x16xf32>
  %y = graph.add %c, %r : (tensor<1x1x4x4x16xf32>, tensor<1x1x4x4x16xf32>) -> tensor<1x1x4x4x16xf32>
  func.return %y : tensor<1x1x4x4x16xf32>
}

// -----

// CHECK-LABEL: @panels
// CHECK:       graph.matmul %{{.*}}, %{{.*}} weight_layout "NK32n2k" wide : (tensor<5x64xbf16>, tensor<2x32x32x2xbf16>) -> tensor<5x64xf32>
func.func @panels(%x: tensor<5x64xf32>) -> tensor<5x64xf32> {
  %w = graph.constant dense<1.0> : tensor<64x64xf32>
  %y = graph.matmul %x, %w : (tensor<5x64xf32>, tensor<64x64xf32>) -> tensor<5x64xf32>
  func.return %y : tensor<5x64xf32>
}

// -----

// An odd sum has no pairs, computed weights would have to be packed at every call.
// CHECK-LABEL: @stays
// CHECK-NOT:   bf16
func.func @stays(%x: tensor<5x63xf32>, %v: tensor<64x64xf32>) -> tensor<5x64xf32> {
  %w = graph.constant dense<1.0> : tensor<63x64xf32>
  %y = graph.matmul %x, %w : (tensor<5x63xf32>, tensor<63x64xf32>) -> tensor<5x64xf32>
  %z = graph.matmul %y, %v : (tensor<5x64xf32>, tensor<64x64xf32>) -> tensor<5x64xf32>
  func.return %z : tensor<5x64xf32>
}
