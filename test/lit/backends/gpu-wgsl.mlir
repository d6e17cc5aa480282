// Kernels as WGSL: buffers are bindings, shared memory stands outside, arrays of whole vectors.
// RUN: nn-opt --emit=wgsl %s | filecheck %s

// CHECK:      /* MatMul_0, Relu_1 */
// CHECK-NEXT: var<workgroup> tile: array<vec2f, 256>;
// CHECK-NEXT: @group(0) @binding(0) var<storage, read> x: array<f32>;
// CHECK-NEXT: @group(0) @binding(1) var<storage, read> w: array<vec2f>;
// CHECK-NEXT: @group(0) @binding(2) var<storage, read_write> out: array<vec2f>;
// CHECK-NEXT: @compute @workgroup_size(16, 16, 1)
// CHECK-NEXT: fn matmul_relu_0(
// CHECK-NEXT:     @builtin(local_invocation_id) thread_place: vec3u,
// CHECK-NEXT:     @builtin(workgroup_id) block_place: vec3u) {
// CHECK-NEXT:   let bx = i32(block_place.x);
// CHECK:        var acc_at0: f32; var acc_at1: f32; var acc_at2: f32; var acc_at3: f32;
// CHECK:        for (var k = 0; k < 2; k++) {
// CHECK-NEXT:     tile[(32 * ty + 2 * tx) >> 1u] = w[(1024 * k + 64 * ty + 32 * bx + 2 * tx) >> 1u];
// CHECK-NEXT:     workgroupBarrier();
// CHECK:            acc_at0 = fma(a0, b.x, acc_at0);
// CHECK:        out[(2048 * by + 128 * ty + 32 * bx + 2 * tx) >> 1u] = vec2f(m0, m0_1);
// CHECK:      @group(0) @binding(0) var<storage, read> x_1: array<vec4f>;
// CHECK:        let v = x_1[(1024 * bx + 64 * (tx / 16) + 4 * (tx % 16)) >> 2u];
// CHECK-NEXT:   out_1[(1024 * bx + 64 * (tx / 16) + 4 * (tx % 16)) >> 2u] = exp(v) + v;

builtin.module attributes {gpu.container_module, nn.target = "opencl"} {
  gpu.module @kernels attributes {gpu.limits = #gpu.limits<opencl, threads = 256, shared_bytes = 32768, arguments = 128, subgroup = 0, grid = [100, 100, 100], block = [256, 256, 64]>} {
    gpu.func @matmul_relu_0(%x: memref<64x32xf32>, %w: memref<32x64xf32>, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 16, 16, 1>, known_grid_size = array<i32: 2, 2, 1>, nn.nodes = ["MatMul_0", "Relu_1"]} {
      %bx = gpu.block_id x
      %by = gpu.block_id y
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %tile = loop.alloc "tile" : memref<16x32xf32, "shared">
      %acc = loop.alloc "acc" : memref<2x2xf32, "register">
      %zero = arith.constant 0.0 : f32
      loop.store %zero, %acc[0, 0] : memref<2x2xf32, "register">
      loop.store %zero, %acc[0, 1] : memref<2x2xf32, "register">
      loop.store %zero, %acc[1, 0] : memref<2x2xf32, "register">
      loop.store %zero, %acc[1, 1] : memref<2x2xf32, "register">
      loop.for %k = 0 to 2 {
        %v = loop.load %w[16 * %k + %ty, 32 * %bx + 2 * %tx] : memref<32x64xf32>, vector<2xf32>
        loop.store %v, %tile[%ty, 2 * %tx] : memref<16x32xf32, "shared">, vector<2xf32>
        gpu.barrier
        loop.for %kk = 0 to 16 {
          %a0 = loop.load %x[32 * %by + 2 * %ty, 16 * %k + %kk] : memref<64x32xf32>
          %a1 = loop.load %x[32 * %by + 2 * %ty + 1, 16 * %k + %kk] : memref<64x32xf32>
          %b = loop.load %tile[%kk, 2 * %tx] : memref<16x32xf32, "shared">, vector<2xf32>
          %b0 = vector.extract %b[0] : f32 from vector<2xf32>
          %b1 = vector.extract %b[1] : f32 from vector<2xf32>
          %c00 = loop.load %acc[0, 0] : memref<2x2xf32, "register">
          %d00 = math.fma %a0, %b0, %c00 : f32
          loop.store %d00, %acc[0, 0] : memref<2x2xf32, "register">
          %c01 = loop.load %acc[0, 1] : memref<2x2xf32, "register">
          %d01 = math.fma %a0, %b1, %c01 : f32
          loop.store %d01, %acc[0, 1] : memref<2x2xf32, "register">
          %c10 = loop.load %acc[1, 0] : memref<2x2xf32, "register">
          %d10 = math.fma %a1, %b0, %c10 : f32
          loop.store %d10, %acc[1, 0] : memref<2x2xf32, "register">
          %c11 = loop.load %acc[1, 1] : memref<2x2xf32, "register">
          %d11 = math.fma %a1, %b1, %c11 : f32
          loop.store %d11, %acc[1, 1] : memref<2x2xf32, "register">
        }
        gpu.barrier
      }
      %r0 = loop.load %acc[0, 0] : memref<2x2xf32, "register">, vector<2xf32>
      %r1 = loop.load %acc[1, 0] : memref<2x2xf32, "register">, vector<2xf32>
      %z = vector.broadcast %zero : f32 to vector<2xf32>
      %m0 = arith.maximumf %r0, %z : vector<2xf32>
      %m1 = arith.maximumf %r1, %z : vector<2xf32>
      loop.store %m0, %out[32 * %by + 2 * %ty, 32 * %bx + 2 * %tx] : memref<64x64xf32>, vector<2xf32>
      loop.store %m1, %out[32 * %by + 2 * %ty + 1, 32 * %bx + 2 * %tx] : memref<64x64xf32>, vector<2xf32>
      gpu.return
    }
    gpu.func @add_exp_0(%x: memref<64x64xf32>, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %bx = gpu.block_id x
      %tx = gpu.thread_id x
      %v = loop.load %x[16 * %bx + %tx floordiv 16, 4 * (%tx mod 16)] : memref<64x64xf32>, vector<4xf32>
      %e = math.exp %v : vector<4xf32>
      %w = arith.addf %e, %v : vector<4xf32>
      loop.store %w, %out[16 * %bx + %tx floordiv 16, 4 * (%tx mod 16)] : memref<64x64xf32>, vector<4xf32>
      gpu.return
    }
  }
  func.func @main(%x: memref<64x32xf32>, %out: memref<64x64xf32>) attributes {num_outputs = 1 : i64} {
    %w = loop.constant dense<0.5> : tensor<32x64xf32> to memref<32x64xf32>
    %t = loop.alloc "t" : memref<64x64xf32>
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @kernels::@matmul_relu_0 blocks in (%c2, %c2, %c1) threads in (%c16, %c16, %c1) args(%x : memref<64x32xf32>, %w : memref<32x64xf32>, %t : memref<64x64xf32>)
    gpu.launch_func @kernels::@add_exp_0 blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1) args(%t : memref<64x64xf32>, %out : memref<64x64xf32>)
    func.return
  }
}
