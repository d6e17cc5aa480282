// RUN: not nn-opt %t.nowhere.mlir 2>&1 | filecheck %s

// CHECK:      nowhere.mlir: error: No such file or directory

