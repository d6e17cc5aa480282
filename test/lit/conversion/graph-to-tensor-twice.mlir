// A second run finds nothing to do, and keeps the types that the model had.
// RUN: nn-opt --convert-graph-to-tensor --convert-graph-to-tensor %s | filecheck %s

// CHECK: func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> attributes {arg_dtypes = ["uint8"], result_dtypes = ["uint8"]}
func.func @main(%x: tensor<4xui8>) -> tensor<4xui8> {
  %y = graph.add %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  func.return %y : tensor<4xui8>
}
