// An unsupported operator is one error that lists every node.
// RUN: python %S/Inputs/model.py %S/Inputs/foreign.txt %t.onnx
// RUN: not nn-opt %t.onnx 2>&1 | filecheck %s

// CHECK:      .onnx: error: 2 unsupported node(s):
// CHECK-NEXT:   node 'first': com.acme.Wobble (opset 2): operator is not supported
// CHECK-NEXT:   node 'Wobble_2': com.acme.Wobble (opset 2): operator is not supported
// CHECK-NEXT:   hint:
