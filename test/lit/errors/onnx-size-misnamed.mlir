// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/onnx-size-misnamed.txt %t.onnx
// RUN: not nn-opt --dim=M=1 %t.onnx 2>&1 | filecheck %s

// CHECK:      error: the model has no symbolic size 'M'; it has 'N'

