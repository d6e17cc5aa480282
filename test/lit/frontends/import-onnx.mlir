// A model file is an input like any text: auto_pad, optional operands and shape arithmetic are
// resolved, nodes keep their names as locations.
// RUN: python %S/Inputs/model.py %S/Inputs/block.txt %t.onnx
// RUN: nn-opt %t.onnx | filecheck %s
// RUN: nn-opt --print-locations %t.onnx | filecheck %s --check-prefix=PLACE

// CHECK:      func.func @main(%[[IMAGE:.*]]: tensor<1x1x4x4xf32>) -> tensor<1x8xf32>
// CHECK-SAME:   arg_names = ["image"], result_names = ["scores"]
// CHECK-NEXT:   %[[FILTERS:.*]] = graph.constant #graph.resource<"{{.*}}"> : tensor<2x1x3x3xf32>
// CHECK-NEXT:   %[[CONV:.*]] = graph.conv %[[IMAGE]], %[[FILTERS]] strides [2, 2] pads [0, 0, 1, 1] dilations [1, 1] group 1
// CHECK-NEXT:   %[[SIX:.*]] = graph.constant dense<6.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[CLIP:.*]] = graph.clip %[[CONV]] high %[[SIX]]
// CHECK-NEXT:   %[[FLAT:.*]] = graph.reshape %[[CLIP]]
// CHECK-NEXT:   %[[TOP:.*]] = graph.softmax %[[FLAT]] axis 1 : tensor<1x8xf32>
// CHECK-NEXT:   func.return %[[TOP]]
// PLACE:      graph.conv{{.*}} loc("stem"("{{.*}}.onnx":1:1))
// PLACE:      graph.softmax{{.*}} loc("top"("{{.*}}.onnx":{{[0-9]+}}:1))
