// RUN: not nn-opt %S 2>&1 | filecheck %s

// CHECK:      errors: error: Is a directory

