// A value of a model that its code holds as a constant.
// RUN: python %S/Inputs/reshapes.py %t.onnx
// RUN: nn-opt %t.onnx --value s=8,1 | filecheck %s
// RUN: not nn-opt %t.onnx --dim n=2 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not nn-opt %t.onnx --value q=1 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not nn-opt %t.onnx --value s=8,x 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not nn-opt %t.onnx --value s 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not nn-opt %s --value s=1 2>&1 | filecheck %s --check-prefix=IR
// RUN: nn-run %t.onnx --value s=2,4 --threads 1 --no-cache --repeat 1 | filecheck %s --check-prefix=SHAPE
// RUN: nn-compile %t.onnx --value s=2,2,2 -o %t.c | filecheck %s --check-prefix=COMPILE

// CHECK: func.func @main(%0: tensor<2x4xf32>) -> tensor<8x1xf32>
// NONE: error: node 'Reshape_0': Reshape: operand 1 ('s') must be known at compile time
// NONE-NEXT: hint: values={'s': ...} gives it, on a command line --value s=...; nn_opt.compile and nn-run compute it
// NAME: error: the model has no value 'q'; its inputs are 'x', 's'
// NUMBER: error: --value is 's=8,x', but 'x' is no number
// FORM: error: --value is 's', expected NAME=1,2
// IR: error: --value is for models, and this is IR
// SHAPE: 2x4
// COMPILE: .c
