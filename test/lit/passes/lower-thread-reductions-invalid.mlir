// RUN: nn-opt --lower-thread-reductions --verify-diagnostics %s

func.func @two(%x: memref<4x8xf32>, %y: memref<f32>) attributes {kernel} {
  loop.for %t = 0 to 4 thread_y {
    // expected-error @+1 {{stage 'sum' is reduced along several dimensions of threads}}
    loop.for %u = 0 to 8 thread_x {
      loop.block "sum" (%a = %t : reduce 4, %b = %u : reduce 8) {
        %0 = loop.load %x[%a, %b] : memref<4x8xf32>
        %1 = loop.load %y[] : memref<f32>
        %2 = arith.addf %1, %0 : f32
        loop.store %2, %y[] : memref<f32>
      } init {
        %3 = arith.constant 0.0 : f32
        loop.store %3, %y[] : memref<f32>
      }
    }
  }
  func.return
}
