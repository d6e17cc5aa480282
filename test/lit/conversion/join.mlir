// RUN: nn-opt --convert-graph-to-tensor --convert-tensor-to-loop %s | filecheck %s

// Each call writes its part in place; %x is copied, and so is %p, which is a result, too.
// CHECK-LABEL: @main
// CHECK:      %[[J:[a-z0-9]*]] = loop.alloc "joined" : memref<1x7x4xf32>
// CHECK-NEXT: %[[A:.*]] = loop.view %[[J]] : memref<1x7x4xf32> to memref<1x2x4xf32>
// CHECK-NEXT: %[[X:.*]] = loop.view %[[J]] offset 8 : memref<1x7x4xf32> to memref<1x1x4xf32>
// CHECK-NEXT: %[[B:.*]] = loop.view %[[J]] offset 12 : memref<1x7x4xf32> to memref<1x2x4xf32>
// CHECK-NEXT: %[[P:.*]] = loop.view %[[J]] offset 20 : memref<1x7x4xf32> to memref<1x2x4xf32>
// CHECK-NEXT: func.call @double(%u, %[[A]])
// CHECK-NEXT: func.call @double(%[[A]], %[[B]])
// CHECK-NEXT: func.call @double(%[[B]], %p)
// CHECK-NEXT: loop.copy %x to %[[X]]
// CHECK-NEXT: loop.copy %p to %[[P]]
// CHECK-NEXT: func.call @whole(%[[J]], %y)
func.func @main(%x: tensor<1x1x4xf32>, %u: tensor<1x2x4xf32>) -> (tensor<1x7x4xf32>, tensor<1x2x4xf32>) {
  %a = func.call @double(%u) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %b = func.call @double(%a) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %p = func.call @double(%b) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %j = graph.concat %a, %x, %b, %p axis 1 : (tensor<1x2x4xf32>, tensor<1x1x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x7x4xf32>
  %y = func.call @whole(%j) : (tensor<1x7x4xf32>) -> tensor<1x7x4xf32>
  func.return %y, %p : tensor<1x7x4xf32>, tensor<1x2x4xf32>
}
func.func private @double(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> attributes {kernel} {
  %y = graph.add %x, %x : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  func.return %y : tensor<1x2x4xf32>
}
func.func private @whole(%x: tensor<1x7x4xf32>) -> tensor<1x7x4xf32> attributes {kernel} {
  %y = graph.relu %x : tensor<1x7x4xf32>
  func.return %y : tensor<1x7x4xf32>
}
