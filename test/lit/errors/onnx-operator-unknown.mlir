// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/onnx-operator-unknown.txt %t.onnx
// RUN: not nn-opt --canonicalize %t.onnx 2>&1 | filecheck %s

// CHECK:      error: 1 unsupported node(s):
// CHECK-NEXT:   node 'twist': ai.onnx.Mystery (opset 17): no such operator in ONNX

