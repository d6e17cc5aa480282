// A pipeline is printed with all its options, read from a file, and run on functions.
// RUN: nn-opt --dump-pass-pipeline --pass-pipeline='func.func(canonicalize,cse),fuse-ops{max-depth=4},dce' %s 2>%t.txt | filecheck %s
// RUN: filecheck %s --check-prefix=DUMP --input-file=%t.txt
// RUN: nn-opt --dump-pass-pipeline --pass-pipeline-file=%t.txt %s 2>%t.again | filecheck %s
// RUN: diff %t.txt %t.again
// RUN: printf '# clean up\nfunc.func(\n  cse, // once\n  dce\n)\n' > %t.pipeline
// RUN: nn-opt --pass-pipeline-file=%t.pipeline %s | filecheck %s
// RUN: not nn-opt --pass-pipeline='cse,func.func(dce,plan-memory)' %s 2>&1 | filecheck %s --check-prefix=WHOLE
// RUN: not nn-opt --pass-pipeline='cse,fun.func(dce)' %s 2>&1 | filecheck %s --check-prefix=ANCHOR
// RUN: not nn-opt --pass-pipeline='cse,cannonicalize' %s 2>&1 | filecheck %s --check-prefix=PASS
// RUN: nn-opt --pass-help=cse | filecheck %s --check-prefix=BOTH
// RUN: nn-opt --pass-help=plan-memory | filecheck %s --check-prefix=MODULE

// BOTH:       runs on builtin.module or func.func
// MODULE:     {{^}}runs on builtin.module{{$}}
// CHECK:      func.func @twice
// CHECK:        arith.mulf
// CHECK-NOT:    arith.mulf
// DUMP:       {{^}}builtin.module({{$}}
// DUMP-NEXT:  {{^}}  func.func({{$}}
// DUMP-NEXT:  {{^}}    canonicalize,{{$}}
// DUMP-NEXT:  {{^}}    cse{{$}}
// DUMP-NEXT:  {{^}}  ),{{$}}
// DUMP-NEXT:  {{^}}  fuse-ops{max-depth=4},{{$}}
// DUMP-NEXT:  {{^}}  dce{{$}}
// DUMP-NEXT:  {{^}}){{$}}
// WHOLE:      --pass-pipeline:1:19: error: --plan-memory needs the whole module
// WHOLE-NEXT: {{^}}  cse,func.func(dce,plan-memory){{$}}
// WHOLE-NEXT: {{^}}                    ^{{$}}
// WHOLE-NEXT: hint: name it outside of func.func(...)
// ANCHOR:     --pass-pipeline:1:5: error: no pass runs on 'fun.func'
// ANCHOR:     hint: did you mean func.func?
// PASS:       --pass-pipeline:1:5: error: unknown pass 'cannonicalize'
// PASS:       hint: did you mean canonicalize?
func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
