// Programs as C99 and as JavaScript: loads and stores with row-major places, constants in the block
// of weights, temporaries in the arena, loops and branches as they are.
// RUN: nn-opt --plan-memory --emit=c --emit-weights=%t.bin %s | filecheck %s --check-prefix=C
// RUN: wc -c <%t.bin | filecheck %s --check-prefix=BYTES
// RUN: nn-opt --plan-memory --emit=js %s | filecheck %s --check-prefix=JS
// RUN: not nn-opt --emit=c --lower-to-llvm %s 2>&1 | filecheck %s --check-prefix=LLVM
// RUN: not nn-opt --emit=js --lower-to-llvm %s 2>&1 | filecheck %s --check-prefix=LLVM-JS

// BYTES: 64
// C: source.mlir, compiled by nn-opt
// C: `arena` holds 64 bytes of temporaries, `weights` 64 bytes
// C: /* /conv, /relu */
// C-NEXT: static void scale(float *x, float *w, float *out) {
// C-NEXT:   for (int64_t i = 0; i < 4; ++i) {
// C-NEXT:     for (int64_t j = 0; j < 4; ++j) {
// C-NEXT:       out[4 * i + j] = (i - 1 >= 0 ? x[4 * i + j - 4] : 0.0f) * w[j];
// C-NEXT:       if (i - j >= 0) {
// C-NEXT:         out[4 * i + j] = 2.5f;
// C: void model_run(const void *const *inputs
// C: float *const x = (float *)inputs[0];
// C: float *const t = (float *)(void *)(((int8_t *)arena));
// C: scale(x, ((float *)(void *)((char *)weights + 0)), t);
// JS: export const arenaBytes = 64, weightBytes = 64;
// JS: export const inputs = [{"name": "arg0", "array": "Float32Array", "shape": [4, 4]}];
// JS: function scale(x, w, out) {
// JS-NEXT:   for (let i = 0; i < 4; ++i) {
// JS-NEXT:     for (let j = 0; j < 4; ++j) {
// JS-NEXT:       out[4 * i + j] = (i - 1 >= 0 ? x[4 * i + j - 4] : 0) * w[j];
// JS: export function run(inputs, outputs, weights, arena = new ArrayBuffer(arenaBytes)) {
// JS: scale(x, new Float32Array(weights, 0, 4), t);
// LLVM: error: builtin.module: has no func.func @main with a body
// LLVM: hint: run --lower-to-loops --lower-to-c first
// LLVM-JS: hint: run --lower-to-loops --lower-to-js first
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {num_outputs = 1 : i64} {
  %w = loop.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> to memref<4xf32>
  %t = loop.alloc "t" : memref<4x4xf32>
  func.call @scale(%x, %w, %t) {nn.nodes = ["/conv", "/relu"]} : (memref<4x4xf32>, memref<4xf32>, memref<4x4xf32>) -> ()
  func.call @scale(%t, %w, %y) : (memref<4x4xf32>, memref<4xf32>, memref<4x4xf32>) -> ()
  func.return
}
func.func private @scale(%x: memref<4x4xf32>, %w: memref<4xf32>, %out: memref<4x4xf32>) {
  %c = arith.constant 2.5 : f32
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 4 {
      %a = loop.load %x[%i - 1, %j] or 0.0 : memref<4x4xf32>
      %b = loop.load %w[%j] : memref<4xf32>
      %p = arith.mulf %a, %b : f32
      loop.store %p, %out[%i, %j] : memref<4x4xf32>
      loop.if (%i - %j >= 0) {
        loop.store %c, %out[%i, %j] : memref<4x4xf32>
      }
    }
  }
  func.return
}
