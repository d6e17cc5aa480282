// RUN: nn-opt --convert-graph-to-tensor --split-input-file %s | filecheck %s

// Padding is a default, strides are factors, the sum holds the product alone.
// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK-NEXT: %[[SUM:.*]] = tensor.compute "conv" (%n: 1, %f: 4, %p: 4, %q: 4) reduce fast add (%c: 3, %r: 3, %s: 3) : tensor<1x4x4x4xf32> {
  // CHECK-NEXT:   %[[A:.*]] = tensor.read %x[%n, %c, 2 * %p + %r - 1, 2 * %q + %s - 1] or 0.0 : tensor<1x3x8x8xf32>
  // CHECK-NEXT:   %[[W:.*]] = tensor.read %w[%f, %c, %r, %s] : tensor<4x3x3x3xf32>
  // CHECK-NEXT:   %[[M:.*]] = arith.mulf %[[A]], %[[W]] : f32
  // CHECK-NEXT:   tensor.yield %[[M]] : f32
  // CHECK:      %y = tensor.compute "bias" (%i: 1, %j: 4, %k: 4, %l: 4) : tensor<1x4x4x4xf32> {
  // CHECK-NEXT:   tensor.read %[[SUM]][%i, %j, %k, %l] : tensor<1x4x4x4xf32>
  // CHECK-NEXT:   tensor.read %b[%j] : tensor<4xf32>
  %y = graph.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  func.return %y : tensor<1x4x4x4xf32>
}

// -----

// Blocks of channels are axes; without padding there is no default.
// CHECK-LABEL: @blocked_convolution
func.func @blocked_convolution(%x: tensor<1x2x8x8x16xf32>, %w: tensor<4x2x1x1x16x16xf32>) -> tensor<1x4x8x8x16xf32> {
  // CHECK-NEXT: tensor.compute "conv" (%n: 1, %fo: 4, %p: 8, %q: 8, %fi: 16) reduce fast add (%co: 2, %r: 1, %s: 1, %ci: 16)
  // CHECK-NEXT:   tensor.read %x[%n, %co, %p, %q, %ci] : tensor<1x2x8x8x16xf32>
  // CHECK-NEXT:   tensor.read %w[%fo, %co, %r, %s, %ci, %fi] : tensor<4x2x1x1x16x16xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x2x8x8x16xf32>, tensor<4x2x1x1x16x16xf32>) -> tensor<1x4x8x8x16xf32>
  func.return %y : tensor<1x4x8x8x16xf32>
}

// -----

// CHECK-LABEL: @depthwise_convolution
func.func @depthwise_convolution(%x: tensor<1x2x8x8x16xf32>, %w: tensor<2x1x3x3x16xf32>) -> tensor<1x2x8x8x16xf32> {
  // CHECK-NEXT: tensor.compute "conv" (%n: 1, %fo: 2, %p: 8, %q: 8, %fi: 16) reduce fast add (%r: 3, %s: 3)
  // CHECK-NEXT:   tensor.read %x[%n, %fo, %p + %r - 1, %q + %s - 1, %fi] or 0.0
  // CHECK-NEXT:   tensor.read %w[%fo, 0, %r, %s, %fi]
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 32 layout "NCHW16c" weight_layout "OIHW16o" : (tensor<1x2x8x8x16xf32>, tensor<2x1x3x3x16xf32>) -> tensor<1x2x8x8x16xf32>
  func.return %y : tensor<1x2x8x8x16xf32>
}

// -----

// CHECK-LABEL: @grouped_convolution
func.func @grouped_convolution(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x1x1xf32>) -> tensor<1x6x8x8xf32> {
  // CHECK: tensor.read %x[%n, %c + 2 * (%f floordiv 3), %p, %q] : tensor<1x4x8x8xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 : (tensor<1x4x8x8xf32>, tensor<6x2x1x1xf32>) -> tensor<1x6x8x8xf32>
  func.return %y : tensor<1x6x8x8xf32>
}

// -----

// The taps that reach a place are a stride apart: the sum goes over those alone.
// CHECK-LABEL: @transposed_convolution
func.func @transposed_convolution(%x: tensor<1x3x4x4xf32>, %w: tensor<3x2x2x3xf32>) -> tensor<1x2x8x7xf32> {
  // CHECK-NEXT: tensor.compute "conv_transpose" (%n: 1, %f: 2, %p: 8, %q: 7) reduce fast add (%c: 3, %r: 1, %s: 2)
  // CHECK-NEXT:   tensor.read %x[%n, %c, %p floordiv 2, -1 * %s + (%q + 1) floordiv 2] or 0.0
  // CHECK-NEXT:   tensor.read %w[%c, %f, %p mod 2, 2 * %s + (%q + 1) mod 2] or 0.0
  // CHECK-NEXT:   arith.mulf
  %y = graph.conv_transpose %x, %w strides [2, 2] pads [0, 1, 0, 1] dilations [1, 1] group 1 output_padding [0, 0] : (tensor<1x3x4x4xf32>, tensor<3x2x2x3xf32>) -> tensor<1x2x8x7xf32>
  func.return %y : tensor<1x2x8x7xf32>
}

// -----

// Batch axes broadcast by reading index 0.
// CHECK-LABEL: @matmul
func.func @matmul(%x: tensor<2x1x5x3xf32>, %y: tensor<4x3x7xf32>) -> tensor<2x4x5x7xf32> {
  // CHECK-NEXT: tensor.compute "matmul" (%b: 2, %b1: 4, %m: 5, %n: 7) reduce fast add (%k: 3)
  // CHECK-NEXT:   tensor.read %x[%b, 0, %m, %k]
  // CHECK-NEXT:   tensor.read %y[%b1, %k, %n]
  %z = graph.matmul %x, %y : (tensor<2x1x5x3xf32>, tensor<4x3x7xf32>) -> tensor<2x4x5x7xf32>
  func.return %z : tensor<2x4x5x7xf32>
}

// -----

// Half floats are storage: they are summed in single precision and rounded once.
// CHECK-LABEL: @half
func.func @half(%x: tensor<5x3xf16>, %y: tensor<3x7xf16>) -> tensor<5x7xf16> {
  // CHECK-NEXT: %[[SUM:.*]] = tensor.compute "matmul" {{.*}} : tensor<5x7xf32>
  // CHECK-COUNT-2: arith.extf
  // CHECK:      tensor.compute "matmul.round" (%i: 5, %j: 7) : tensor<5x7xf16>
  // CHECK:        arith.truncf %{{.*}} : f32 to f16
  %z = graph.matmul %x, %y : (tensor<5x3xf16>, tensor<3x7xf16>) -> tensor<5x7xf16>
  func.return %z : tensor<5x7xf16>
}

// -----

// CHECK-LABEL: @softmax
func.func @softmax(%x: tensor<4x9xf32>) -> tensor<4x9xf32> {
  // CHECK-NEXT: %[[MAX:.*]] = tensor.compute "softmax.max" (%i: 4) reduce fast max (%j: 9) : tensor<4xf32>
  // CHECK:      %[[EXP:.*]] = tensor.compute "softmax.exp" (%[[I:.*]]: 4, %[[J:.*]]: 9) : tensor<4x9xf32> {
  // CHECK-NEXT:   %[[X:.*]] = tensor.read %x[%[[I]], %[[J]]]
  // CHECK-NEXT:   %[[TOP:.*]] = tensor.read %[[MAX]][%[[I]]]
  // CHECK-NEXT:   %[[D:.*]] = arith.subf %[[X]], %[[TOP]]
  // CHECK-NEXT:   math.exp %[[D]]
  // CHECK:      %[[SUM:.*]] = tensor.compute "softmax.sum" (%{{.*}}: 4) reduce fast add (%{{.*}}: 9)
  // CHECK:      tensor.compute "softmax.share" (%{{.*}}: 4)
  // CHECK:        arith.divf
  // CHECK:      tensor.compute "softmax" (%{{.*}}: 4, %{{.*}}: 9)
  // CHECK:        arith.mulf
  %y = graph.softmax %x axis -1 : tensor<4x9xf32>
  func.return %y : tensor<4x9xf32>
}

// -----

// The logarithm of a row's sum is computed once.
// CHECK-LABEL: @log_softmax
func.func @log_softmax(%x: tensor<4x9xf32>) -> tensor<4x9xf32> {
  // CHECK-NEXT: tensor.compute "log_softmax.max" (%i: 4) reduce fast max (%j: 9) : tensor<4xf32>
  // CHECK:      %[[SUM:.*]] = tensor.compute "log_softmax.sum" (%{{.*}}: 4) reduce fast add (%{{.*}}: 9)
  // CHECK:      %[[LOG:.*]] = tensor.compute "log_softmax.log" (%[[I:.*]]: 4) : tensor<4xf32> {
  // CHECK-NEXT:   %[[S:.*]] = tensor.read %[[SUM]][%[[I]]]
  // CHECK-NEXT:   math.log %[[S]]
  // CHECK:      tensor.compute "log_softmax" (%[[K:.*]]: 4, %{{.*}}: 9)
  // CHECK:        tensor.read %[[LOG]][%[[K]]]
  %y = graph.log_softmax %x axis -1 : tensor<4x9xf32>
  func.return %y : tensor<4x9xf32>
}

// -----

// One stage an op, named after it; a constant exponent becomes products.
// CHECK-LABEL: @chain
func.func @chain(%x: tensor<4x9xf32>, %b: tensor<9xf32>) -> tensor<4x9xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  // CHECK-NEXT: tensor.compute "add"
  // CHECK-NEXT:   tensor.read %x[%i, %j]
  // CHECK-NEXT:   tensor.read %b[%j]
  %s = graph.add %x, %b : (tensor<4x9xf32>, tensor<9xf32>) -> tensor<4x9xf32>
  // CHECK:      tensor.compute "relu"
  // CHECK:        arith.maximumf
  %r = graph.relu %s : tensor<4x9xf32>
  // CHECK:      tensor.compute "pow"
  // CHECK-NEXT:   %[[R:.*]] = tensor.read
  // CHECK-NEXT:   arith.mulf %[[R]], %[[R]]
  %q = graph.pow %r, %two : (tensor<4x9xf32>, tensor<f32>) -> tensor<4x9xf32>
  // CHECK:      tensor.compute "relu_1"
  %t = graph.relu %q : tensor<4x9xf32>
  func.return %t : tensor<4x9xf32>
}

// -----

// Below the graph integers have no sign: the ops have, and the function keeps the dtypes.
// CHECK-LABEL: @bytes
// CHECK-SAME: (%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi1> attributes {arg_dtypes = ["uint8", "uint8"], result_dtypes = ["bool"]}
func.func @bytes(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xi1> {
  // CHECK: arith.divui
  %s = graph.div %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  // CHECK: arith.cmpi ult
  %r = graph.less %s, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  func.return %r : tensor<4xi1>
}

// -----

// CHECK-LABEL: @max_pool
func.func @max_pool(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-NEXT: tensor.compute "pool" (%i: 1, %j: 2, %k: 4, %l: 4) reduce fast max (%m: 3, %n: 3)
  // CHECK-NEXT:   tensor.read %x[%i, %j, 2 * %k + %m - 1, 2 * %l + %n - 1] or -inf
  %y = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// -----

// Without padding every window has as many elements.
// CHECK-LABEL: @average_pool
func.func @average_pool(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-NEXT: tensor.compute "pool.sum" {{.*}} reduce fast add (%m: 2, %n: 2)
  // CHECK:      tensor.compute "pool" {{.*}} {
  // CHECK-NEXT:   %[[SUM:.*]] = tensor.read
  // CHECK-NEXT:   %[[COUNT:.*]] = arith.constant 4.000000e+00 : f32
  // CHECK-NEXT:   arith.divf %[[SUM]], %[[COUNT]]
  %y = graph.pool %x kind "average" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// -----

// A data-dependent index counts from the end if negative and never leaves the tensor.
// CHECK-LABEL: @gather
func.func @gather(%x: tensor<2x20xf32>, %at: tensor<3xi64>) -> tensor<2x3xf32> {
  // CHECK:      %[[AT:.*]] = tensor.read %at[%j]
  // CHECK-NEXT: arith.index_cast %[[AT]] : i64 to index
  // CHECK:      arith.select
  // CHECK:      arith.maxsi
  // CHECK:      %[[K:.*]] = arith.minsi
  // CHECK-NEXT: tensor.read %x[%i, %[[K]]] : tensor<2x20xf32>
  %y = graph.gather %x, %at axis 1 : (tensor<2x20xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @concat
func.func @concat(%x: tensor<2x20xf32>, %z: tensor<2x2xf32>) -> tensor<2x22xf32> {
  // CHECK:      %[[A:.*]] = tensor.read %x[%i, %j] or 0.0
  // CHECK-NEXT: %[[B:.*]] = tensor.read %z[%i, %j - 20] or 0.0
  // CHECK-NEXT: %[[END:.*]] = arith.constant 20 : index
  // CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi slt, %j, %[[END]] : index
  // CHECK-NEXT: arith.select %[[FIRST]], %[[A]], %[[B]]
  %y = graph.concat %x, %z axis 1 : (tensor<2x20xf32>, tensor<2x2xf32>) -> tensor<2x22xf32>
  func.return %y : tensor<2x22xf32>
}

// -----

// Blocks that stay blocks are read plainly; the last one is filled up with zeros.
// CHECK-LABEL: @layouts
func.func @layouts(%x: tensor<2x20x5xf32>) -> tensor<2x5x2x16xf32> {
  // CHECK: tensor.read %x[%i, 16 * %k + %l, %j] or 0.0 : tensor<2x20x5xf32>
  %y = graph.layout_transform %x from "NCW" to "NWC16c" sizes [2, 20, 5] : (tensor<2x20x5xf32>) -> tensor<2x5x2x16xf32>
  func.return %y : tensor<2x5x2x16xf32>
}

// -----

// Calls and recurrences stay, with types lowered.
// CHECK-LABEL: @main
func.func @main(%h: tensor<4xui8>, %xs: tensor<3x4xui8>) -> (tensor<4xui8>, tensor<3x4xui8>) {
  // CHECK: tensor.scan 1 (%s = %h : tensor<4xi8>, %x = %xs : tensor<3x4xi8>) -> (tensor<4xi8>, tensor<3x4xi8>) {
  // CHECK-NEXT: func.call @add_0(%s, %x) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %last, %ys = graph.scan (%s = %h : tensor<4xui8>) over (%x = %xs : tensor<3x4xui8>) -> (tensor<4xui8>, tensor<3x4xui8>) {
    %n = func.call @add_0(%s, %x) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    graph.yield %n, %n : tensor<4xui8>, tensor<4xui8>
  }
  func.return %last, %ys : tensor<4xui8>, tensor<3x4xui8>
}
// CHECK: func.func private @add_0(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> attributes {kernel} {
func.func private @add_0(%a: tensor<4xui8>, %b: tensor<4xui8>) -> tensor<4xui8> attributes {kernel} {
  // CHECK: arith.addi
  %y = graph.add %a, %b : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  func.return %y : tensor<4xui8>
}

// -----

// What is a formula already is copied, with what is in it.
// CHECK-LABEL: func.func @formula_beside_graph
func.func @formula_beside_graph(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = tensor.compute "twice" (%[[I:.*]]: 4) : tensor<4xf32> {
  // CHECK-NEXT:   %[[E:.*]] = tensor.read %{{.*}}[%[[I]]] : tensor<4xf32>
  // CHECK-NEXT:   %[[S:.*]] = arith.addf %[[E]], %[[E]] : f32
  // CHECK-NEXT:   tensor.yield %[[S]] : f32
  %y = tensor.compute "twice" (%i: 4) : tensor<4xf32> {
    %e = tensor.read %x[%i] : tensor<4xf32>
    %s = arith.addf %e, %e : f32
    tensor.yield %s : f32
  }
  // CHECK: tensor.compute "relu"
  // CHECK-NEXT: tensor.read %[[Y]]
  %z = graph.relu %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}
