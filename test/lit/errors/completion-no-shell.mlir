// RUN: not nn-opt completion 2>&1 | filecheck %s

// CHECK:      error: completion: which shell?
// CHECK-NEXT:   hint: there are bash, zsh

