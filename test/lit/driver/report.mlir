// A model's operators, types, parameters, arithmetic, and what has no type for it.
// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/net.txt %t.onnx
// RUN: nn-opt --report --dim N=3 %t.onnx | filecheck %s
// RUN: not nn-opt --report %s 2>&1 | filecheck %s --check-prefix=TEXT

// CHECK: operators, opset ai.onnx
// CHECK: input x: float32 ['N', 4]
// CHECK: parameters:
// CHECK: floating-point operations a run
// CHECK: MatMul
// CHECK-SAME: compiled
// CHECK: JavaScript: all element types
// TEXT: error: --report takes a model, expected FILE.onnx
