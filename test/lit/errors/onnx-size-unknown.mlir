// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/onnx-size-unknown.txt %t.onnx
// RUN: not nn-opt --canonicalize %t.onnx 2>&1 | filecheck %s

// CHECK:      error: the sizes of 1 input(s) are unknown: 'x' [N, 4]
// CHECK-NEXT:   hint: give them by

