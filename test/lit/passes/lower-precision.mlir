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

// An odd sum and columns that are no whole panels are filled up; the columns are cut off again.
// CHECK-LABEL: @filled
// CHECK:       %[[X:.*]] = graph.cast %x : (tensor<5x63xf32>) -> tensor<5x63xbf16>
// CHECK:       %[[W:.*]] = graph.layout_transform %{{.*}} from "KN" to "NK16n2k" sizes [63, 40]
// CHECK-NEXT:  %[[P:.*]] = graph.pad %[[X]] pads [0, 0, 0, 1] {{.*}} -> tensor<5x64xbf16>
// CHECK-NEXT:  %[[Y:.*]] = graph.matmul %[[P]], %[[W]] weight_layout "NK16n2k" wide : ({{.*}}) -> tensor<5x48xf32>
// CHECK-NEXT:  graph.slice %[[Y]] starts [0, 0] sizes [5, 40]
func.func @filled(%x: tensor<5x63xf32>) -> tensor<5x40xf32> {
  %w = graph.constant dense<1.0> : tensor<63x40xf32>
  %y = graph.matmul %x, %w : (tensor<5x63xf32>, tensor<63x40xf32>) -> tensor<5x40xf32>
  func.return %y : tensor<5x40xf32>
}

// -----

// Two columns would leave most of a panel empty, computed weights would be packed at every call.
// CHECK-LABEL: @stays
// CHECK-NOT:   bf16
func.func @stays(%x: tensor<5x64xf32>, %v: tensor<2x64xf32>) -> tensor<5x64xf32> {
  %w = graph.constant dense<1.0> : tensor<64x2xf32>
  %y = graph.matmul %x, %w : (tensor<5x64xf32>, tensor<64x2xf32>) -> tensor<5x2xf32>
  %z = graph.matmul %y, %v : (tensor<5x2xf32>, tensor<2x64xf32>) -> tensor<5x64xf32>
  func.return %z : tensor<5x64xf32>
}

// -----

// A depthwise convolution reads a rounded image, and multiplies as before.
// CHECK-LABEL: @depthwise
// CHECK:       %[[X:.*]] = graph.cast %{{.*}} -> tensor<1x1x4x4x16xbf16>
// CHECK-NEXT:  graph.conv %[[X]], %{{.*}} group 16 {{.*}} wide : (tensor<1x1x4x4x16xbf16>, tensor<1x1x3x3x16xf32>) -> tensor<1x1x4x4x16xf32>
func.func @depthwise(%x: tensor<1x1x4x4x16xf32>) -> tensor<1x1x4x4x16xf32> {
  %w = graph.constant dense<1.0> : tensor<16x1x3x3xf32>
  %v = graph.layout_transform %w from "OIHW" to "OIHW16o" sizes [16, 1, 3, 3] : (tensor<16x1x3x3xf32>) -> tensor<1x1x3x3x16xf32>
  %r = graph.relu %x : tensor<1x1x4x4x16xf32>
  %c = graph.conv %r, %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 16 layout "NCHW16c" weight_layout "OIHW16o" : (tensor<1x1x4x4x16xf32>, tensor<1x1x3x3x16xf32>) -> tensor<1x1x4x4x16xf32>
  func.return %c : tensor<1x1x4x4x16xf32>
}

// -----

// What moves numbers moves rounded ones, if a kernel makes them; the graph's input stays as it is.
// CHECK-LABEL: @moves
// CHECK:       %[[R:.*]] = graph.relu %x
// CHECK-NEXT:  %[[C:.*]] = graph.cast %[[R]]
// CHECK-NEXT:  %[[T:.*]] = graph.transpose %[[C]] {{.*}} -> tensor<4x8x4xbf16>
// CHECK-NEXT:  %[[S:.*]] = graph.reshape %[[T]] {{.*}} -> tensor<4x32xbf16>
// CHECK:       graph.matmul %[[S]]
// CHECK:       %[[Q:.*]] = graph.reshape %x : (tensor<8x4x4xf32>) -> tensor<32x4xf32>
// CHECK-NEXT:  graph.cast %[[Q]] : (tensor<32x4xf32>) -> tensor<32x4xbf16>
func.func @moves(%x: tensor<8x4x4xf32>) -> (tensor<4x32xf32>, tensor<32x32xf32>) {
  %w = graph.constant dense<1.0> : tensor<32x32xf32>
  %v = graph.constant dense<1.0> : tensor<4x32xf32>
  %r = graph.relu %x : tensor<8x4x4xf32>
  %t = graph.transpose %r perm [1, 0, 2] : (tensor<8x4x4xf32>) -> tensor<4x8x4xf32>
  %s = graph.reshape %t : (tensor<4x8x4xf32>) -> tensor<4x32xf32>
  %y = graph.matmul %s, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %q = graph.reshape %x : (tensor<8x4x4xf32>) -> tensor<32x4xf32>
  %z = graph.matmul %q, %v : (tensor<32x4xf32>, tensor<4x32xf32>) -> tensor<32x32xf32>
  func.return %y, %z : tensor<4x32xf32>, tensor<32x32xf32>
}

// -----

// The largest of rounded numbers is the largest, rounded.
// CHECK-LABEL: @largest
// CHECK:       %[[R:.*]] = graph.relu %x
// CHECK-NEXT:  %[[C:.*]] = graph.cast %[[R]]
// CHECK-NEXT:  %[[P:.*]] = graph.pool %[[C]] {{.*}} -> tensor<1x1x2x2x16xbf16>
// CHECK:       graph.conv %[[P]]
func.func @largest(%x: tensor<1x1x4x4x16xf32>) -> tensor<1x1x2x2x16xf32> {
  %w = graph.constant dense<1.0> : tensor<16x16x1x1xf32>
  %v = graph.layout_transform %w from "OIHW" to "OIHW16i16o" sizes [16, 16, 1, 1] : (tensor<16x16x1x1xf32>) -> tensor<1x1x1x1x16x16xf32>
  %r = graph.relu %x : tensor<1x1x4x4x16xf32>
  %p = graph.pool %r kind "max" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout "NCHW16c" : (tensor<1x1x4x4x16xf32>) -> tensor<1x1x2x2x16xf32>
  %c = graph.conv %p, %v strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x1x2x2x16xf32>, tensor<1x1x1x1x16x16xf32>) -> tensor<1x1x2x2x16xf32>
  func.return %c : tensor<1x1x2x2x16xf32>
}

// -----

// Computed right sides are packed from before their transposition, if there are rows enough.
// CHECK-LABEL: @attention
// CHECK:       %[[Q:.*]] = graph.cast %q
// CHECK:       %[[K:.*]] = graph.cast %k : (tensor<1x64x2x32xf32>) -> tensor<1x64x2x32xbf16>
// CHECK-NOT:   graph.transpose
// CHECK:       %[[P:.*]] = graph.layout_transform %[[K]] from "ANBK" to "ABNK32n2k" sizes [1, 64, 2, 32]
// CHECK-NEXT:  graph.matmul %[[Q]], %[[P]] weight_layout "ABNK32n2k" wide : (tensor<1x2x64x32xbf16>, tensor<1x2x2x16x32x2xbf16>) -> tensor<1x2x64x64xf32>
func.func @attention(%q: tensor<1x2x64x32xf32>, %k: tensor<1x64x2x32xf32>) -> tensor<1x2x64x64xf32> {
  %t = graph.transpose %k perm [0, 2, 3, 1] : (tensor<1x64x2x32xf32>) -> tensor<1x2x32x64xf32>
  %s = graph.matmul %q, %t : (tensor<1x2x64x32xf32>, tensor<1x2x32x64xf32>) -> tensor<1x2x64x64xf32>
  func.return %s : tensor<1x2x64x64xf32>
}

// -----

// One query is no reason to pack all keys.
// CHECK-LABEL: @query
// CHECK-NOT:   bf16
func.func @query(%q: tensor<1x2x1x32xf32>, %k: tensor<1x2x32x64xf32>) -> tensor<1x2x1x64xf32> {
  %s = graph.matmul %q, %k : (tensor<1x2x1x32xf32>, tensor<1x2x32x64xf32>) -> tensor<1x2x1x64xf32>
  func.return %s : tensor<1x2x1x64xf32>
}
