// RUN: not nn-opt --pass-help=cssee 2>&1 | filecheck %s

// CHECK:      error: unknown pass 'cssee'
// CHECK-NEXT:   hint: did you mean cse?

