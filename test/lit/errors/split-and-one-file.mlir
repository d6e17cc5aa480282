// RUN: not nn-opt --split-input-file --emit-weights=%t.safetensors %s 2>&1 | filecheck %s
// RUN: not nn-opt --split-input-file --bisect=true --cse %s 2>&1 | filecheck %s --check-prefix=BISECT

// CHECK:      error: --emit-weights and --split-input-file do not go together
// CHECK-NEXT:   hint: each part would write the same file
// BISECT:     error: --bisect and --split-input-file do not go together
func.func @f() {
  func.return
}
