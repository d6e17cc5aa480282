// What passes change is shown as a diff, and what they leave is in numbered files.
// RUN: rm -rf %t && nn-opt --print-ir-change --canonicalize --cse --dce %s 2>&1 >%t.out | filecheck %s --check-prefix=DIFF
// RUN: nn-opt --print-ir-tree-dir=%t/tree --canonicalize --pass-pipeline='func.func(cse)' %s | filecheck %s --check-prefix=OUT
// RUN: ls %t/tree | filecheck %s --check-prefix=FILES
// RUN: nn-opt %t/tree/0001-canonicalize.mlir --cse | filecheck %s --check-prefix=OUT
// RUN: filecheck %s --check-prefix=OUT --input-file=%t/tree/0002-cse.mlir
// RUN: nn-opt --split-input-file --print-ir-tree-dir=%t/parts --dce %S/split.mlir > %t.out
// RUN: ls %t/parts/1 | filecheck %s --check-prefix=PART
// RUN: not nn-opt --print-ir-tree-dir=%s/no --cse %s 2>&1 | filecheck %s --check-prefix=NOT

// DIFF-NOT:   canonicalize
// DIFF:       {{^}}--- before cse{{$}}
// DIFF-NEXT:  {{^}}+++ after cse{{$}}
// DIFF-NEXT:  @@ -1,7 +1,6 @@
// DIFF:       {{^}}-    %b = arith.mulf
// DIFF:       {{^}}+    func.return %a, %a : f32, f32
// DIFF-NOT:   dce
// FILES:      0000-input.mlir
// FILES-NEXT: 0001-canonicalize.mlir
// FILES-NEXT: 0002-cse.mlir
// OUT:        arith.mulf
// OUT-NOT:    arith.mulf
// PART:       0001-dce.mlir
// NOT:        error: Not a directory
func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
