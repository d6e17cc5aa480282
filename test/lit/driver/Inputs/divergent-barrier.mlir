builtin.module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @f(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %tile = loop.alloc "tile" : memref<8xf32, "shared">
      %v = loop.load %x[%t] : memref<8xf32>
      loop.store %v, %tile[%t] : memref<8xf32, "shared">
      loop.if (3 - %t >= 0) {
        gpu.barrier
      }
      loop.store %v, %y[%t] : memref<8xf32>
      gpu.return
    }
  }
  func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) attributes {num_outputs = 1 : i64} {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @kernels::@f blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%x : memref<8xf32>, %y : memref<8xf32>)
    func.return
  }
}
