// RUN: not nn-opt completion tclsh 2>&1 | filecheck %s

// CHECK:      error: completion: unknown shell 'tclsh'
// CHECK-NEXT:   hint: there are bash, zsh

