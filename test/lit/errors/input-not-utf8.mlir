// RUN: printf 'func.func private @f()\n\377' > %t.mlir
// RUN: not nn-opt %t.mlir 2>&1 | filecheck %s

// CHECK:      mlir:2:1: error: this is no UTF-8 text

