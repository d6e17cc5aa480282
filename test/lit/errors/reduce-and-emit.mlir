// RUN: not nn-opt --reduce="true" --emit=c %s 2>&1 | filecheck %s
// RUN: not nn-opt --bisect="true" --emit=llvm-ir %s 2>&1 | filecheck %s --check-prefix=BISECT

// CHECK:  error: --reduce and --emit=c do not go together
// BISECT: error: --bisect and --emit=llvm-ir do not go together
func.func @f() {
  func.return
}
