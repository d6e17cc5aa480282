// RUN: not nn-opt %s 2>&1 | filecheck %s
// RUN: not nn-opt --error-limit=1 %s 2>&1 | filecheck %s --check-prefix=ONE
// RUN: not nn-opt --diagnostics-format=json %s 2>&1 | filecheck %s --check-prefix=JSON
// RUN: not nn-opt --diagnostics-format=sarif %s 2>&1 | filecheck %s --check-prefix=SARIF
// RUN: not nn-opt --color=always %s 2>&1 | filecheck %s --check-prefix=COLOUR
// RUN: nn-opt --verify-diagnostics %s
// RUN: nn-opt --verify-diagnostics=only-expected %s
// RUN: not nn-opt --verify-diagnostics=all %s 2>&1 | filecheck %s --check-prefix=ALL

// All errors are reported, each with its line, and notes with theirs.
// CHECK:      diagnostics.mlir:27:8: error: arith.addi: operand #0 (%b) is used before
// CHECK-NEXT: {{^}}  %c = arith.addi %b, %a : i32
// CHECK-NEXT: {{^}}       ^
// CHECK-NEXT: diagnostics.mlir:28:8: note: %b is defined here, by arith.addi
// CHECK:      diagnostics.mlir:35:1: error: func.func: symbol @twin is defined twice
// CHECK:      diagnostics.mlir:32:1: note: previous definition is here
// ONE:        error: arith.addi
// ONE:        {{^}}  note: 1 more error
// JSON:       {"severity": "error", "file": "{{.*}}diagnostics.mlir", "line": 27, "column": 8, "op": "arith.addi"
// SARIF:      "version": "2.1.0"
// COLOUR:     [1;31merror:
// ALL:        error: unexpected note: %b is defined here
// ALL:        error: unexpected note: previous definition is here

func.func @late(%a: i32) -> i32 {
  // expected-error@+1 {{used before its definition dominates it}}
  %c = arith.addi %b, %a : i32
  %b = arith.addi %a, %a : i32
  func.return %c : i32
}

func.func private @twin()

// expected-error-re@below 1 {{symbol {{@tw.n}} is defined}}
func.func private @twin()
