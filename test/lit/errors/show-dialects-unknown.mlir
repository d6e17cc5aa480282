// RUN: not nn-opt --show-dialects=graf 2>&1 | filecheck %s

// CHECK:      error: unknown dialect 'graf'
// CHECK-NEXT:   hint: did you mean graph?

