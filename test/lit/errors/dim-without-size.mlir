// RUN: not nn-opt --dim=batch %t.onnx 2>&1 | filecheck %s

// CHECK:      error: --dim is 'batch', expected NAME=SIZE

