// Each tool says what it takes, and which version it is.
// RUN: nn-opt --help | filecheck %s --check-prefix=OPT
// RUN: nn-run --help | filecheck %s --check-prefix=RUN-HELP
// RUN: nn-compile --help | filecheck %s --check-prefix=COMPILE
// RUN: nn-opt --version | filecheck %s --check-prefix=VERSION
// RUN: nn-run --version | filecheck %s --check-prefix=VERSION
// RUN: nn-compile --version | filecheck %s --check-prefix=VERSION

// OPT:      usage: nn-opt
// OPT:      --split-input-file
// RUN-HELP: usage: nn-run
// RUN-HELP: --save-outputs FILE
// COMPILE:  usage: nn-compile
// COMPILE:  -o FILE
// VERSION:  {{^}}nn-{{(opt|run|compile)}} {{[0-9]+\.[0-9]+}}
