// RUN: not nn-opt --apply-pdl=%S/Inputs/apply-pdl/none.pdl --allow-unregistered-dialect %s 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not nn-opt --apply-pdl=%S/Inputs/apply-pdl/bad.pdl --allow-unregistered-dialect %s 2>&1 | filecheck %s --check-prefix=BAD
// RUN: not nn-opt --apply-pdl=%S/Inputs/apply-pdl/native.pdl --allow-unregistered-dialect %s 2>&1 | filecheck %s --check-prefix=NATIVE
// RUN: not nn-opt --apply-pdl=%S/Inputs/apply-pdl/cycle.pdl --allow-unregistered-dialect %s 2>&1 | filecheck %s --check-prefix=CYCLE
// RUN: not nn-opt "--apply-pdl=%S/Inputs/apply-pdl/cycle.pdl max-rewrites=7" --allow-unregistered-dialect %s 2>&1 | filecheck %s --check-prefix=SEVEN
// RUN: not nn-opt --apply-pdl=%s --allow-unregistered-dialect %s 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not nn-opt --apply-pdl --allow-unregistered-dialect %s 2>&1 | filecheck %s --check-prefix=OPTION

// MISSING: none.pdl: error: No such file or directory
// BAD:     bad.pdl:4:5: error: pdl.erase: operand #0 (%nobody) has no definition
// NATIVE:  native.pdl:3:3: error: pdl.apply_native_constraint: not supported: no Python function 'is_tuesday' is known
// NATIVE-NEXT: hint: @pdl_constraint('is_tuesday') of nn_opt.passes.pdl_functions makes one known; there are has_one_use
// CYCLE:   cycle.pdl:{{[0-9]+}}:1: error: pdl.pattern: still fires after {{[0-9]+}} rewrites: patterns undo each other
// SEVEN:   still fires after 7 rewrites
// OTHER:   apply-pdl-invalid.mlir:{{[0-9]+}}:1: error: func.func: is no pdl.pattern
// OPTION:  error: --apply-pdl needs the option 'file'
func.func @main() {
  %x = "test.op"() : () -> i32
  "demo.here"() : () -> ()
  func.return
}
