// A pass that fails leaves what it was given, weights included, in a file that replays it.
// RUN: rm -f %t.repro %t.repro.safetensors
// RUN: not nn-opt --canonicalize --crash-reproducer=%t.repro --fold-constants --convert-loop-to-llvm --pass-pipeline='func.func(cse)' %s >%t 2>%t.err
// RUN: filecheck %s --check-prefix=MESSAGE <%t.err
// RUN: filecheck %s --check-prefix=FILE <%t.repro
// RUN: not nn-opt --run-reproducer %t.repro >%t 2>%t.again
// RUN: grep -e error: -e hint: %t.err | diff - %t.again
// RUN: rm -f %t.none && nn-opt --cse --crash-reproducer=%t.none %s && test ! -e %t.none
// RUN: not nn-opt --run-reproducer %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not nn-opt --run-reproducer <%t.repro 2>&1 | filecheck %s --check-prefix=STDIN

// STDIN: {{^}}error: --run-reproducer needs a file, as weights may lie beside it
// MESSAGE: crash-reproducer.mlir:23:8: error: graph.constant: --convert-loop-to-llvm has no rule
// MESSAGE: note: nn-opt --run-reproducer {{.*}}.repro replays this
// FILE: // Replay it with nn-opt --run-reproducer. It ended in: {{.*}}has no rule
// FILE-NEXT: // nn-opt-arguments: {{.*}}builtin.module(convert-loop-to-llvm,func.func(cse)){{.*}}--weights=
// FILE: graph.constant #graph.resource
// FILE-SAME: loc(fused["{{.*}}crash-reproducer.mlir":23:8, 
// NONE: crash-reproducer.mlir:1:1: error: this is no reproducer
// NONE: hint: --crash-reproducer=FILE
func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  %w = graph.constant dense<0.5> : tensor<32xf32>
  %v = graph.neg %w : tensor<32xf32>
  %y = graph.add %x, %v : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  func.return %y : tensor<32xf32>
}
