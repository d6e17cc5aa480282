// RUN: not nn-opt --apply-pdl=%S/Inputs/pdl-operand-in-rewrite.pdl %s 2>&1 | filecheck %s

// CHECK:      pdl-operand-in-rewrite.pdl:4:10: error: pdl.operand: is bound by no operation of the pattern
func.func @f() {
  func.return
}
