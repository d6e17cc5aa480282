// Each tool says what it takes, and which version it is.
// RUN: nn-opt --help | filecheck %s --check-prefix=OPT
// RUN: nn-run --help | filecheck %s --check-prefix=RUN-HELP
// RUN: nn-compile --help | filecheck %s --check-prefix=COMPILE
// RUN: nn-opt --version | filecheck %s --check-prefix=VERSION
// RUN: nn-run --version | filecheck %s --check-prefix=VERSION
// RUN: nn-compile --version | filecheck %s --check-prefix=VERSION
// RUN: nn-opt --pass-help=optimize-graph | filecheck %s --check-prefix=PIPELINE
// RUN: not nn-opt --pass-help=zzzz 2>&1 | filecheck %s --check-prefix=NONE

// PIPELINE: --optimize-graph: a pipeline
// PIPELINE:   --fuse-ops
// PIPELINE: options, for the passes that have them
// PIPELINE:   precision f32|bf16 = f32
// PIPELINE:   max-depth int = 64
// NONE:      error: unknown pass 'zzzz'
// NONE-NEXT: hint: --list-passes lists the passes
// OPT:      usage: nn-opt
// OPT:      --split-input-file
// RUN-HELP: usage: nn-run
// RUN-HELP: --save-outputs FILE
// COMPILE:  usage: nn-compile
// COMPILE:  -o FILE
// VERSION:  {{^}}nn-{{(opt|run|compile)}} {{[0-9]+\.[0-9]+}}
