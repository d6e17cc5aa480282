// Patterns that fire are told of one by one, or counted.
// RUN: nn-opt --print-patterns --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=PRINT
// RUN: nn-opt --pattern-statistics --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=COUNT
// RUN: nn-opt --pattern-statistics=json --split-input-file --canonicalize %s 2>&1 >%t | filecheck %s --check-prefix=JSON
// RUN: nn-opt --canonicalize %s 2>&1 >%t | filecheck %s --check-prefix=NONE --allow-empty

// PRINT:      patterns.mlir:22:8: arith.mulf: NeutralOperand [canonicalize]
// PRINT-NOT:  remark
// COUNT:      canonicalize
// COUNT-NEXT: tried fired seconds pattern
// COUNT:      1 1 0.{{[0-9]+}} NeutralOperand
// COUNT-NOT:  cse
// JSON:       {
// JSON-NEXT:   "canonicalize": {
// JSON:         "NeutralOperand": {
// JSON-NEXT:     "tried": 1,
// JSON-NEXT:     "fired": 1,
// JSON-NEXT:     "seconds":
// NONE-NOT:   {{.}}
func.func @f(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %y = arith.mulf %x, %one : f32
  func.return %y : f32
}
