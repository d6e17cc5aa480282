// RUN: nn-opt --target="llvm -mtriple=riscv64-linux-gnu -mattr=+v" %s | filecheck %s
// RUN: nn-opt --target="llvm -mtriple=riscv64-linux-gnu -mattr=+v" %s | nn-opt | filecheck %s
// RUN: not nn-opt --target="llvm -mcpu=cortex-a76" %s 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK: builtin.module attributes {nn.target = "llvm -mtriple=riscv64-linux-gnu -mattr=+v"}
// WRONG:      error: target 'llvm -mcpu=cortex-a76': it has no -mtriple
// WRONG-NEXT:   hint: for example -mtriple=aarch64-linux-gnu
func.func @f() {
  func.return
}
