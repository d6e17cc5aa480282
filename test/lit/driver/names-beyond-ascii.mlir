// Names in other scripts are printed with escapes, and read again as the text that they are.
// RUN: nn-opt --print-locations %s -o %t.mlir && filecheck %s < %t.mlir
// RUN: nn-opt --print-locations %t.mlir | diff %t.mlir -
// RUN: nn-opt --compile --print-locations %t.mlir | filecheck %s --check-prefix=COMPILED

// CHECK: attributes {arg_names = ["gr\C3\B6\C3\9Fe"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {arg_names = ["größe"]} {
  // CHECK: graph.relu %x : tensor<4xf32> loc("\E5\8F\B7 1"("net\C3\A9.onnx":1:1))
  %0 = graph.relu %x : tensor<4xf32> loc("号 1"("neté.onnx":1:1))
  func.return %0 : tensor<4xf32>
}

// COMPILED: loc("\E5\8F\B7 1"("net\C3\A9.onnx":1:1))
