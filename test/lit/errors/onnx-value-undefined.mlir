// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/onnx-value-undefined.txt %t.onnx
// RUN: not nn-opt --canonicalize %t.onnx 2>&1 | filecheck %s

// CHECK:      error: node 'sum' reads 'bias', which is no input, initializer or node output

