// RUN: nn-opt --plan-memory --split-input-file %s | filecheck %s

// Two temporaries that are in use at the same time; the third takes the place of the first.
// CHECK:       builtin.module attributes {nn.arena_bytes = 128 : i64, nn.arena_lower_bound = 128 : i64, nn.arena_plan = [{buffer = "a", offset = 0 : i64, size = 64 : i64, first = 3 : i64, last = 4 : i64}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  %arena = loop.arena : memref<128xi8>
// CHECK-NEXT:  %a = loop.view %arena : memref<128xi8> to memref<16xf32>
// CHECK-NEXT:  %b = loop.view %arena offset 64 : memref<128xi8> to memref<16xf32>
// CHECK-NEXT:  %c = loop.view %arena : memref<128xi8> to memref<16xf32>
func.func @main(%x: memref<16xf32>, %y: memref<16xf32>) attributes {num_outputs = 1 : i64} {
  %a = loop.alloc "a" : memref<16xf32>
  %b = loop.alloc "b" : memref<16xf32>
  %c = loop.alloc "c" : memref<16xf32>
  loop.copy %x to %a : memref<16xf32> to memref<16xf32>
  loop.copy %a to %b : memref<16xf32> to memref<16xf32>
  loop.copy %b to %c : memref<16xf32> to memref<16xf32>
  loop.copy %c to %y : memref<16xf32> to memref<16xf32>
  func.return
}

// -----

// A result overwrites an input that dies, and the kernel says so.
// CHECK:       nn.arena_bytes = 64 : i64
// CHECK-LABEL: func.func private @double
// CHECK-SAME:  nn.aliases = array<i64: 0, 1>
func.func private @double(%x: memref<16xf32>, %y: memref<16xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 16 {
    %a = loop.load %x[%i] : memref<16xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %y[%i] : memref<16xf32>
  }
  func.return
}
func.func @main(%x: memref<16xf32>, %y: memref<16xf32>) attributes {num_outputs = 1 : i64} {
  %a = loop.alloc "a" : memref<16xf32>
  %b = loop.alloc "b" : memref<16xf32>
  func.call @double(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @double(%a, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @double(%b, %y) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// -----

// Large temporaries of a kernel come from its caller; small ones are on its stack.
// CHECK-LABEL: func.func private @kernel(%x: memref<4xf32>, %y: memref<4xf32>, %big: memref<2048xf32>) attributes {num_outputs = 1 : i64, num_scratch = 1 : i64}
// CHECK-NEXT:  loop.alloc "small" : memref<8xf32, "stack">
// CHECK-LABEL: func.func @main
// CHECK:       %[[BIG:.*]] = loop.view %arena : memref<8192xi8> to memref<2048xf32>
// CHECK-NEXT:  func.call @kernel(%x, %y, %[[BIG]])
func.func private @kernel(%x: memref<4xf32>, %y: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  %big = loop.alloc "big" : memref<2048xf32>
  %small = loop.alloc "small" : memref<8xf32>
  %z = arith.constant 0.0 : f32
  loop.store %z, %big[0] : memref<2048xf32>
  loop.store %z, %small[0] : memref<8xf32>
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  func.call @kernel(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// -----

// A function that calls kernels and is not @main: its arena, which holds their temporaries, too, is
// an argument, and @main gives it a part of its own.
// CHECK-LABEL: func.func private @kernel(%x: memref<2048xf32>, %y: memref<2048xf32>, %big: memref<2048xf32>)
// CHECK-LABEL: func.func @net(%x: memref<2048xf32>, %y: memref<2048xf32>, %arena: memref<16384xi8>) attributes {num_outputs = 1 : i64, num_scratch = 1 : i64}
// CHECK-NEXT:  %a = loop.view %arena : memref<16384xi8> to memref<2048xf32>
// CHECK-NEXT:  %[[ONE:.*]] = loop.view %arena offset 8192 : memref<16384xi8> to memref<2048xf32>
// CHECK-NEXT:  func.call @kernel(%x, %a, %[[ONE]])
// CHECK-NEXT:  %[[TWO:.*]] = loop.view %arena offset 8192 : memref<16384xi8> to memref<2048xf32>
// CHECK-NEXT:  func.call @kernel(%a, %y, %[[TWO]])
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  %arena = loop.arena : memref<16384xi8>
// CHECK-NEXT:  %[[PART:.*]] = loop.view %arena : memref<16384xi8> to memref<16384xi8>
// CHECK-NEXT:  func.call @net(%x, %y, %[[PART]])
func.func private @kernel(%x: memref<2048xf32>, %y: memref<2048xf32>) attributes {kernel, num_outputs = 1 : i64} {
  %big = loop.alloc "big" : memref<2048xf32>
  loop.copy %x to %big : memref<2048xf32> to memref<2048xf32>
  loop.copy %big to %y : memref<2048xf32> to memref<2048xf32>
  func.return
}
func.func @net(%x: memref<2048xf32>, %y: memref<2048xf32>) attributes {num_outputs = 1 : i64} {
  %a = loop.alloc "a" : memref<2048xf32>
  func.call @kernel(%x, %a) : (memref<2048xf32>, memref<2048xf32>) -> ()
  func.call @kernel(%a, %y) : (memref<2048xf32>, memref<2048xf32>) -> ()
  func.return
}
func.func @main(%x: memref<2048xf32>, %y: memref<2048xf32>) attributes {num_outputs = 1 : i64} {
  func.call @net(%x, %y) : (memref<2048xf32>, memref<2048xf32>) -> ()
  func.return
}

// -----

// In a parallel loop, each thread has its own.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  loop.for
// CHECK-NEXT:  loop.alloc "t" : memref<8xf32, "stack">
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 4 parallel {
    %t = loop.alloc "t" : memref<8xf32>
    %a = loop.load %x[%i] : memref<4xf32>
    loop.store %a, %t[%i] : memref<8xf32>
    %b = loop.load %t[%i] : memref<8xf32>
    loop.store %b, %y[%i] : memref<4xf32>
  }
  func.return
}
