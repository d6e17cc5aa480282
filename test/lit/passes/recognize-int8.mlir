// RUN: nn-opt --recognize-int8 --split-input-file %s | filecheck %s

// The sum is one of integers; the zero point's share is in the bias, and fills the padding.
// CHECK-LABEL: @conv
// CHECK:       %[[C:.*]] = graph.conv %x, %{{.*}} strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 wide fill 3 : (tensor<1x4x4x4xui8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x4xi32>
// CHECK-NEXT:  %[[B:.*]] = graph.constant {{.*}} : tensor<8x1x1xi32>
// CHECK-NEXT:  %[[S:.*]] = graph.add %[[C]], %[[B]]
// CHECK-NEXT:  %[[F:.*]] = graph.cast %[[S]] : (tensor<1x8x4x4xi32>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:  %[[K:.*]] = graph.constant dense<1.250000e-01> : tensor<f32>
// CHECK-NEXT:  %[[R:.*]] = graph.mul %[[F]], %[[K]]
// CHECK-NEXT:  func.return %[[R]]
func.func @conv(%x: tensor<1x4x4x4xui8>) -> tensor<1x8x4x4xf32> {
  %w = graph.constant dense<2> : tensor<8x4x3x3xi8>
  %z = graph.constant dense<3> : tensor<ui8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<0.25> : tensor<f32>
  %zi = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %xi = graph.cast %x : (tensor<1x4x4x4xui8>) -> tensor<1x4x4x4xi32>
  %xz = graph.sub %xi, %zi : (tensor<1x4x4x4xi32>, tensor<i32>) -> tensor<1x4x4x4xi32>
  %xf = graph.cast %xz : (tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xf32>
  %xr = graph.mul %xf, %s : (tensor<1x4x4x4xf32>, tensor<f32>) -> tensor<1x4x4x4xf32>
  %wi = graph.cast %w : (tensor<8x4x3x3xi8>) -> tensor<8x4x3x3xi32>
  %wf = graph.cast %wi : (tensor<8x4x3x3xi32>) -> tensor<8x4x3x3xf32>
  %wr = graph.mul %wf, %t : (tensor<8x4x3x3xf32>, tensor<f32>) -> tensor<8x4x3x3xf32>
  %y = graph.conv %xr, %wr strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x4x4x4xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x4x4xf32>
  func.return %y : tensor<1x8x4x4xf32>
}

// -----

// Signed activations lose their sign; 5 products are filled up to 8, 3 columns to a panel.
// CHECK-LABEL: @signed
// CHECK:       %[[H:.*]] = graph.constant dense<128> : tensor<ui8>
// CHECK-NEXT:  %[[U:.*]] = graph.bitwise_xor %{{.*}}, %[[H]]
// CHECK:       %[[P:.*]] = graph.pad %[[U]] pads [0, 0, 0, 3]
// CHECK:       %[[W:.*]] = graph.layout_transform %{{.*}} from "KN" to "NK16n4k"
// CHECK-NEXT:  %[[M:.*]] = graph.matmul %[[P]], %[[W]] weight_layout "NK16n4k" wide : (tensor<2x8xui8>, tensor<1x2x16x4xi8>) -> tensor<2x16xi32>
// CHECK-NEXT:  %[[C:.*]] = graph.slice %[[M]]
// CHECK-NEXT:  %[[B:.*]] = graph.constant dense<-640> : tensor<3xi32>
// CHECK-NEXT:  graph.add %[[C]], %[[B]]
func.func @signed(%x: tensor<2x5xi8>) -> tensor<2x3xi32> {
  %w = graph.constant dense<1> : tensor<5x3xi8>
  %xi = graph.cast %x : (tensor<2x5xi8>) -> tensor<2x5xi32>
  %wi = graph.cast %w : (tensor<5x3xi8>) -> tensor<5x3xi32>
  %y = graph.matmul %xi, %wi : (tensor<2x5xi32>, tensor<5x3xi32>) -> tensor<2x3xi32>
  func.return %y : tensor<2x3xi32>
}

// -----

// A zero point that is not known yet is multiplied at run time. Weights of 200 are 127 and 73.
// CHECK-LABEL: @dynamic
// CHECK-COUNT-2: graph.matmul {{.*}} wide : (tensor<2x4xui8>, tensor<1x1x16x4xi8>) -> tensor<2x16xi32>
// CHECK:       graph.add
// CHECK:       %[[W:.*]] = graph.constant {{.*}} : tensor<16xi32>
// CHECK-NEXT:  %[[Z:.*]] = graph.mul %{{.*}}, %[[W]] : (tensor<i32>, tensor<16xi32>) -> tensor<16xi32>
// CHECK-NEXT:  graph.sub %{{.*}}, %[[Z]]
func.func @dynamic(%x: tensor<2x4xui8>, %z: tensor<ui8>) -> tensor<2x16xi32> {
  %w = graph.constant dense<200> : tensor<4x16xui8>
  %zi = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %xi = graph.cast %x : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %xz = graph.sub %xi, %zi : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %wi = graph.cast %w : (tensor<4x16xui8>) -> tensor<4x16xi32>
  %y = graph.matmul %xz, %wi : (tensor<2x4xi32>, tensor<4x16xi32>) -> tensor<2x16xi32>
  func.return %y : tensor<2x16xi32>
}

// -----

// Padding by a zero point that is not known, weights that are not, and plain integers stay.
// CHECK-LABEL: @stays
// CHECK-NOT:   wide
func.func @stays(%x: tensor<1x4x4x4xui8>, %z: tensor<ui8>, %a: tensor<4x4xui8>, %b: tensor<4x4xi32>) -> (tensor<1x8x4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>) {
  %w = graph.constant dense<2> : tensor<8x4x3x3xi32>
  %zi = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %xi = graph.cast %x : (tensor<1x4x4x4xui8>) -> tensor<1x4x4x4xi32>
  %xz = graph.sub %xi, %zi : (tensor<1x4x4x4xi32>, tensor<i32>) -> tensor<1x4x4x4xi32>
  %y = graph.conv %xz, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x4x4x4xi32>, tensor<8x4x3x3xi32>) -> tensor<1x8x4x4xi32>
  %ai = graph.cast %a : (tensor<4x4xui8>) -> tensor<4x4xi32>
  %p = graph.matmul %ai, %b : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  %q = graph.matmul %b, %b : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  func.return %y, %p, %q : tensor<1x8x4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>
}

// -----

// Two scales become one, a relu that saturates anyway goes; what is clipped first rounds as it is cast.
// CHECK-LABEL: @requantize
// CHECK:       %[[M:.*]] = graph.matmul
// CHECK-NEXT:  %[[F:.*]] = graph.cast %[[M]]
// CHECK-NEXT:  %[[S:.*]] = graph.constant dense<1.250000e-01> : tensor<1x1xf32>
// CHECK-NEXT:  %[[P:.*]] = graph.mul %[[F]], %[[S]]
// CHECK:       %[[C:.*]] = graph.clip %[[P]]
// CHECK-NEXT:  %[[R:.*]] = graph.round %[[C]]
// CHECK-NEXT:  %[[I:.*]] = graph.cast %[[R]] : (tensor<2x16xf32>) -> tensor<2x16xi32>
// CHECK-NEXT:  graph.cast %[[I]] : (tensor<2x16xi32>) -> tensor<2x16xui8>
func.func @requantize(%x: tensor<2x4xui8>) -> tensor<2x16xui8> {
  %w = graph.constant dense<1> : tensor<4x16xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<2.0> : tensor<f32>
  %o = graph.constant dense<0.0> : tensor<f32>
  %h = graph.constant dense<255.0> : tensor<f32>
  %xi = graph.cast %x : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %xf = graph.cast %xi : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %xr = graph.mul %xf, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %wi = graph.cast %w : (tensor<4x16xi8>) -> tensor<4x16xi32>
  %wf = graph.cast %wi : (tensor<4x16xi32>) -> tensor<4x16xf32>
  %wr = graph.mul %wf, %s : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %p = graph.matmul %xr, %wr : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
  %r = graph.relu %p : tensor<2x16xf32>
  %d = graph.div %r, %t : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
  %u = graph.round %d : tensor<2x16xf32>
  %a = graph.add %u, %o : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
  %c = graph.clip %a low %o high %h : (tensor<2x16xf32>, tensor<f32>, tensor<f32>) -> tensor<2x16xf32>
  %y = graph.cast %c : (tensor<2x16xf32>) -> tensor<2x16xui8>
  func.return %y : tensor<2x16xui8>
}

// -----

// The largest of dequantised numbers is that of the integers; quantised as before, they stay.
// CHECK-LABEL: @pool
// CHECK-NEXT:  %[[P:.*]] = graph.pool %x kind "max" {{.*}} : (tensor<1x4x4x4xui8>) -> tensor<1x4x2x2xui8>
// CHECK-NEXT:  func.return %[[P]]
func.func @pool(%x: tensor<1x4x4x4xui8>) -> tensor<1x4x2x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %o = graph.constant dense<0.0> : tensor<f32>
  %h = graph.constant dense<255.0> : tensor<f32>
  %xi = graph.cast %x : (tensor<1x4x4x4xui8>) -> tensor<1x4x4x4xi32>
  %xf = graph.cast %xi : (tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xf32>
  %xr = graph.mul %xf, %s : (tensor<1x4x4x4xf32>, tensor<f32>) -> tensor<1x4x4x4xf32>
  %p = graph.pool %xr kind "max" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x4x4x4xf32>) -> tensor<1x4x2x2xf32>
  %d = graph.div %p, %s : (tensor<1x4x2x2xf32>, tensor<f32>) -> tensor<1x4x2x2xf32>
  %u = graph.round %d : tensor<1x4x2x2xf32>
  %c = graph.clip %u low %o high %h : (tensor<1x4x2x2xf32>, tensor<f32>, tensor<f32>) -> tensor<1x4x2x2xf32>
  %y = graph.cast %c : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xui8>
  func.return %y : tensor<1x4x2x2xui8>
}

// -----

// The next scale goes into those of both terms, through the relu.
// CHECK-LABEL: @sum
// CHECK:       %[[A:.*]] = graph.mul %{{.*}}, %{{.*}} : (tensor<2x16xf32>, tensor<1x1xf32>) -> tensor<2x16xf32>
// CHECK:       %[[B:.*]] = graph.mul %{{.*}}, %{{.*}} : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
// CHECK:       %[[S:.*]] = graph.add %[[A]], %[[B]]
// CHECK:       graph.clip %[[S]]
func.func @sum(%x: tensor<2x4xui8>, %u: tensor<2x16xui8>) -> tensor<2x16xui8> {
  %w = graph.constant dense<1> : tensor<4x16xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<2.0> : tensor<f32>
  %o = graph.constant dense<0.0> : tensor<f32>
  %h = graph.constant dense<255.0> : tensor<f32>
  %xi = graph.cast %x : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %xf = graph.cast %xi : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %xr = graph.mul %xf, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %ui = graph.cast %u : (tensor<2x16xui8>) -> tensor<2x16xi32>
  %uf = graph.cast %ui : (tensor<2x16xi32>) -> tensor<2x16xf32>
  %ur = graph.mul %uf, %t : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
  %wi = graph.cast %w : (tensor<4x16xi8>) -> tensor<4x16xi32>
  %wf = graph.cast %wi : (tensor<4x16xi32>) -> tensor<4x16xf32>
  %wr = graph.mul %wf, %s : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %p = graph.matmul %xr, %wr : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
  %q = graph.add %p, %ur : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %r = graph.relu %q : tensor<2x16xf32>
  %d = graph.div %r, %t : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
  %v = graph.round %d : tensor<2x16xf32>
  %c = graph.clip %v low %o high %h : (tensor<2x16xf32>, tensor<f32>, tensor<f32>) -> tensor<2x16xf32>
  %y = graph.cast %c : (tensor<2x16xf32>) -> tensor<2x16xui8>
  func.return %y : tensor<2x16xui8>
}

// -----

// Zeros around dequantised numbers are the zero point around the integers.
// CHECK-LABEL: @pad
// CHECK:       %[[Z:.*]] = graph.constant dense<3> : tensor<ui8>
// CHECK-NEXT:  %[[P:.*]] = graph.pad %x, %[[Z]] pads [0, 1, 0, 2] mode "constant" : (tensor<2x4xui8>, tensor<ui8>) -> tensor<2x7xui8>
// CHECK-NEXT:  graph.cast %[[P]] : (tensor<2x7xui8>) -> tensor<2x7xi32>
func.func @pad(%x: tensor<2x4xui8>) -> tensor<2x7xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i32>
  %xi = graph.cast %x : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %xz = graph.sub %xi, %z : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %xf = graph.cast %xz : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %xr = graph.mul %xf, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %p = graph.pad %xr pads [0, 1, 0, 2] mode "constant" : (tensor<2x4xf32>) -> tensor<2x7xf32>
  func.return %p : tensor<2x7xf32>
}

// -----

// Of two activations the right one is packed, as it lies before a transposition; the sums of its
// columns and of the other one's rows stand for the zero points.
// CHECK-LABEL: @activations
// CHECK:       %[[F:.*]] = graph.bitwise_xor %b, %{{.*}}
// CHECK-NEXT:  %[[S:.*]] = graph.cast %[[F]] : (tensor<2x32x8xui8>) -> tensor<2x32x8xi8>
// CHECK-NEXT:  %[[P:.*]] = graph.layout_transform %[[S]] from "ANK" to "ANK32n4k"
// CHECK-NEXT:  %[[M:.*]] = graph.matmul %a, %[[P]] weight_layout "ANK32n4k" wide : (tensor<2x32x8xui8>, tensor<2x1x2x32x4xi8>) -> tensor<2x32x32xi32>
// CHECK:       graph.reduce %{{.*}} kind "sum" axes [2] keepdims : (tensor<2x32x8xi32>) -> tensor<2x32x1xi32>
// CHECK:       graph.transpose %{{.*}} : (tensor<2x32x1xi32>) -> tensor<2x1x32xi32>
// CHECK:       graph.reduce %{{.*}} kind "sum" axes [2] keepdims : (tensor<2x32x8xi32>) -> tensor<2x32x1xi32>
// CHECK-NOT:   graph.matmul
func.func @activations(%a: tensor<2x32x8xui8>, %b: tensor<2x32x8xui8>) -> tensor<2x32x32xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i32>
  %ai = graph.cast %a : (tensor<2x32x8xui8>) -> tensor<2x32x8xi32>
  %az = graph.sub %ai, %z : (tensor<2x32x8xi32>, tensor<i32>) -> tensor<2x32x8xi32>
  %af = graph.cast %az : (tensor<2x32x8xi32>) -> tensor<2x32x8xf32>
  %ar = graph.mul %af, %s : (tensor<2x32x8xf32>, tensor<f32>) -> tensor<2x32x8xf32>
  %bi = graph.cast %b : (tensor<2x32x8xui8>) -> tensor<2x32x8xi32>
  %bf = graph.cast %bi : (tensor<2x32x8xi32>) -> tensor<2x32x8xf32>
  %br = graph.mul %bf, %s : (tensor<2x32x8xf32>, tensor<f32>) -> tensor<2x32x8xf32>
  %t = graph.transpose %br perm [0, 2, 1] : (tensor<2x32x8xf32>) -> tensor<2x8x32xf32>
  %y = graph.matmul %ar, %t : (tensor<2x32x8xf32>, tensor<2x8x32xf32>) -> tensor<2x32x32xf32>
  func.return %y : tensor<2x32x32xf32>
}

// -----

// Packing for few rows does not pay.
// CHECK-LABEL: @few_rows
// CHECK-NOT:   wide
func.func @few_rows(%a: tensor<2x4x8xui8>, %b: tensor<2x8x32xui8>) -> tensor<2x4x32xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %ai = graph.cast %a : (tensor<2x4x8xui8>) -> tensor<2x4x8xi32>
  %af = graph.cast %ai : (tensor<2x4x8xi32>) -> tensor<2x4x8xf32>
  %ar = graph.mul %af, %s : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %bi = graph.cast %b : (tensor<2x8x32xui8>) -> tensor<2x8x32xi32>
  %bf = graph.cast %bi : (tensor<2x8x32xi32>) -> tensor<2x8x32xf32>
  %br = graph.mul %bf, %s : (tensor<2x8x32xf32>, tensor<f32>) -> tensor<2x8x32xf32>
  %y = graph.matmul %ar, %br : (tensor<2x4x8xf32>, tensor<2x8x32xf32>) -> tensor<2x4x32xf32>
  func.return %y : tensor<2x4x32xf32>
}
