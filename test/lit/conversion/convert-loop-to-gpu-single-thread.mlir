// RUN: nn-opt --convert-loop-to-gpu=single-thread %s | filecheck %s

// CHECK: gpu.func @serial(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>, gpu.lockstep}
// CHECK:   loop.for %i = 0 to 4 {
builtin.module attributes {nn.target = "opencl"} {
  func.func @serial(%x: memref<4xf32>) {
    %z = arith.constant 0.0 : f32
    loop.for %i = 0 to 4 {
      loop.store %z, %x[%i] : memref<4xf32>
    }
    func.return
  }
}
