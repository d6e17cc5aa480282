// RUN: nn-opt --check-indices --split-input-file %s | filecheck %s

// What inputs hold is cast and moved about before it names elements; of two ranges the narrower.
// CHECK: attributes {nn.index_ranges = [{input = 1 : i64, node = "{{.*}}.mlir:9:8", size = 7 : i64, cuts = array<i64>}]} {
func.func @main(%x: tensor<9x7xf32>, %i: tensor<2x3xi64>) -> (tensor<6x7xf32>, tensor<9x2x3xf32>) {
  %c = graph.cast %i : (tensor<2x3xi64>) -> tensor<2x3xi32>
  %r = graph.reshape %c : (tensor<2x3xi32>) -> tensor<6xi32>
  %a = graph.gather %x, %r axis 0 : (tensor<9x7xf32>, tensor<6xi32>) -> tensor<6x7xf32>
  %b = graph.gather %x, %i axis 1 : (tensor<9x7xf32>, tensor<2x3xi64>) -> tensor<9x2x3xf32>
  func.return %a, %b : tensor<6x7xf32>, tensor<9x2x3xf32>
}

// -----

// Cuts: places 2 and 4, backwards, of axis 1, then place 1 of axis 0; and joined ones.
// CHECK:      {nn.index_ranges = [
// CHECK-SAME:   {input = 1 : i64, node = "{{[^"]*}}", size = 9 : i64, cuts = array<i64: 0, 1, 2, 1, 1, 2, 5, 2>},
// CHECK-SAME:   {input = 2 : i64, node = "{{[^"]*}}", size = 9 : i64, cuts = array<i64>}]}
func.func @main(%x: tensor<9xf32>, %i: tensor<3x6xi64>, %j: tensor<4xi64>) -> tensor<6xf32> {
  %s = graph.slice %i starts [0, 4] sizes [3, 2] steps [1, -2] : (tensor<3x6xi64>) -> tensor<3x2xi64>
  %one = graph.constant dense<1> : tensor<i64>
  %t = graph.gather %s, %one axis 0 : (tensor<3x2xi64>, tensor<i64>) -> tensor<2xi64>
  %u = graph.concat %t, %j axis 0 : (tensor<2xi64>, tensor<4xi64>) -> tensor<6xi64>
  %y = graph.gather %x, %u axis 0 : (tensor<9xf32>, tensor<6xi64>) -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

// -----

// Each column of a point is for an axis of its own.
// CHECK:      {nn.index_ranges = [
// CHECK-SAME:   {input = 1 : i64, node = "{{[^"]*}}", size = 9 : i64, cuts = array<i64: 1, 0, 1, 1>},
// CHECK-SAME:   {input = 1 : i64, node = "{{[^"]*}}", size = 7 : i64, cuts = array<i64: 1, 1, 2, 1>}]}
func.func @main(%x: tensor<9x7xf32>, %i: tensor<4x2xi64>) -> tensor<4xf32> {
  %y = graph.gather_nd %x, %i batch_dims 0 : (tensor<9x7xf32>, tensor<4x2xi64>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// What is computed, cast to a type that lacks numbers of the range, or never read is not noted.
// CHECK-NOT: nn.index_ranges
func.func @main(%x: tensor<300xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %j = graph.neg %i : tensor<4xi64>
  %a = graph.gather %x, %j axis 0 : (tensor<300xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c = graph.cast %i : (tensor<4xi64>) -> tensor<4xi8>
  %d = graph.cast %c : (tensor<4xi8>) -> tensor<4xi64>
  %b = graph.gather_elements %x, %d axis 0 : (tensor<300xf32>, tensor<4xi64>) -> tensor<4xf32>
  %n = graph.gather %x, %i axis 0 : (tensor<300xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
