// The page of a run is one file; a pass that fails is on it, too.
// RUN: nn-opt --explore --pass-pipeline='fuse-ops{max-depth=4},cse' %s -o %t.html 2>&1 | filecheck %s --check-prefix=SAID --allow-empty
// RUN: filecheck %s <%t.html
// RUN: nn-opt --explore %s -o %t.compile.html && filecheck %s <%t.compile.html
// RUN: rm -f %t.failed.html
// RUN: not nn-opt --explore --convert-tensor-to-loop %s -o %t.failed.html 2>&1 | filecheck %s --check-prefix=FAILED
// RUN: filecheck %s <%t.failed.html
// Remarks and the like go on to be printed.
// RUN: nn-opt --explore --fuse-ops --remarks --statistics %s -o %t.html 2>&1 | filecheck %s --check-prefix=REMARKS
// What would do something else with the module is refused.
// RUN: not nn-opt --explore --cse --reduce=true %s -o %t.no.html 2>&1 | filecheck %s --check-prefix=REDUCE
// RUN: not nn-opt --explore --cse --bisect=true %s -o %t.no.html 2>&1 | filecheck %s --check-prefix=BISECT
// RUN: not nn-opt --explore --cse --split-input-file %s -o %t.no.html 2>&1 | filecheck %s --check-prefix=SPLIT
// RUN: not nn-opt --explore --cse --verify-diagnostics %s -o %t.no.html 2>&1 | filecheck %s --check-prefix=EXPECT
// RUN: not nn-opt --explore --cse --emit=llvm-ir %s -o %t.no.html 2>&1 | filecheck %s --check-prefix=EMIT
// RUN: not nn-opt --explore --cse --print-op-generic %s -o %t.no.html 2>&1 | filecheck %s --check-prefix=GENERIC
// RUN: not nn-opt --explore --cse --port=seven %s 2>&1 | filecheck %s --check-prefix=PORT
// RUN: not nn-opt --explore --cse %s -o %t.none/page.html 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: test ! -e %t.no.html

// SAID-NOT:    error
// CHECK:       <!DOCTYPE html>
// CHECK-NEXT:  <html lang="en">
// CHECK:       <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-
// CHECK:       <title>{{.*}}explore.mlir - nn-opt explorer</title>
// CHECK-NOT:   onerror=
// CHECK:       <script type="application/octet-stream" id="data">
// FAILED:      explore.mlir:{{[0-9]+}}:8: error: graph.exp: takes or returns a tensor, and convert-tensor-to-loop has no rule for it
// FAILED:      hint: run --convert-graph-to-tensor first
// REMARKS:     explore.mlir:{{[0-9]+}}:8: remark: graph.exp: kept in memory for 2 readers
// REMARKS:     kernels-formed
// REDUCE:      error: --explore and --reduce do not go together
// BISECT:      error: --explore and --bisect do not go together
// SPLIT:       error: --explore and --split-input-file do not go together
// EXPECT:      error: --explore and --verify-diagnostics do not go together
// EMIT:        error: --explore and --emit do not go together
// GENERIC:     error: --explore and --print-op-generic do not go together
// PORT:        error: argument --port: invalid int value: 'seven'
// FOLDER:      explore.mlir.tmp.none/page.html: error: {{No such file|there is no folder}}


func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {arg_names = ["</script><img src=x onerror=alert(1)>"]} {
  %0 = graph.exp %x : tensor<4xf32>
  %1 = graph.relu %0 : tensor<4xf32>
  func.return %0, %1, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
