// RUN: nn-opt --convert-gpu-to-llvm=device=spirv --split-input-file --verify-diagnostics %s
// RUN: not nn-opt --convert-gpu-to-llvm=device=cuda %S/../driver/Inputs/missing-barrier.mlir 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: echo "func.func private @f() -> ()" | not nn-opt --emit=ptx 2>&1 | filecheck %s --check-prefix=EMPTY

// DEVICE: error: builtin.module: no device is called 'cuda', expected ptx or spirv
// EMPTY: error: builtin.module: has no kernels
// EMPTY: hint: run --lower-to-gpu first

gpu.module @kernels {
  gpu.func @shuffle(%x: memref<32xf32>) kernel {
    %c = arith.constant 1 : i32
    %t = gpu.thread_id x
    %v = loop.load %x[%t] : memref<32xf32>
    // expected-error@+1 {{gpu.shuffle: --convert-gpu-to-llvm has no rule for this operation on spirv}}
    %s, %valid = gpu.shuffle xor %v, %c, %c : f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @float(%x: memref<32xf32>, %v: f32) kernel {
    // expected-error@+1 {{gpu.atomic: --convert-gpu-to-llvm has no rule for this operation on spirv}}
    %old = gpu.atomic addf %v, %x[0] : memref<32xf32>
    gpu.return
  }
}
