// RUN: not nn-opt --apply-pdl=%S/Inputs/pdl-operation-apart.pdl %s 2>&1 | filecheck %s

// CHECK:      pdl-operation-apart.pdl:4:12: error: pdl.operation: shares no value with the root of the pattern
// CHECK-NEXT:   hint: matches are found along values
func.func @f() {
  func.return
}
