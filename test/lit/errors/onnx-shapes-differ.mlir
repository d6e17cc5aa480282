// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/onnx-shapes-differ.txt %t.onnx
// RUN: not nn-opt --canonicalize %t.onnx 2>&1 | filecheck %s

// CHECK:      error: node 'product': MatMul: inner sizes are 4 and 3, expected equal ones

