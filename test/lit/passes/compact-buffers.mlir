// RUN: nn-opt --compact-buffers %s | filecheck %s

// CHECK-LABEL: @tile_keeps_one_iteration
func.func @tile_keeps_one_iteration(%x: memref<8x16xf32>, %y: memref<8x16xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 8 {
    loop.for %o = 0 to 4 {
      // CHECK: %[[T:.*]] = loop.alloc "t" : memref<1x4xf32, "stack">
      %t = loop.alloc "t" : memref<8x16xf32, "stack">
      loop.for %j = 0 to 4 {
        %a = loop.load %x[%i, 4 * %o + %j] : memref<8x16xf32>
        // CHECK: loop.store %a, %[[T]][0, %j] : memref<1x4xf32, "stack">
        loop.store %a, %t[%i, 4 * %o + %j] : memref<8x16xf32, "stack">
      }
      loop.for %j = 0 to 4 {
        // CHECK: loop.load %[[T]][0, -1 * %{{.*}} + 3] : memref<1x4xf32, "stack">
        %a = loop.load %t[%i, 4 * %o + 3 - %j] : memref<8x16xf32, "stack">
        loop.store %a, %y[%i, 4 * %o + %j] : memref<8x16xf32>
      }
    }
  }
  func.return
}

// CHECK-LABEL: @whole_where_bases_differ
func.func @whole_where_bases_differ(%y: memref<16xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %o = 0 to 4 {
    // CHECK: loop.alloc "t" : memref<16xf32, "stack">
    %t = loop.alloc "t" : memref<16xf32, "stack">
    %c = arith.constant 1.0 : f32
    loop.store %c, %t[4 * %o] : memref<16xf32, "stack">
    %a = loop.load %t[%o] : memref<16xf32, "stack">
    loop.store %a, %y[4 * %o] : memref<16xf32>
  }
  func.return
}

// CHECK-LABEL: @whole_where_read_with_or
func.func @whole_where_read_with_or(%y: memref<16xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %o = 0 to 4 {
    // CHECK: loop.alloc "t" : memref<16xf32, "stack">
    %t = loop.alloc "t" : memref<16xf32, "stack">
    %c = arith.constant 1.0 : f32
    loop.store %c, %t[%o] : memref<16xf32, "stack">
    %a = loop.load %t[%o + 14] or 0.0 : memref<16xf32, "stack">
    loop.store %a, %y[4 * %o] : memref<16xf32>
  }
  func.return
}

// Along other dimensions than that in which a load may leave a buffer, this shrinks all the same.
// CHECK-LABEL: @rows_where_read_with_or
func.func @rows_where_read_with_or(%y: memref<4x16xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %o = 0 to 4 {
    // CHECK: %[[T:.*]] = loop.alloc "t" : memref<1x16xf32, "stack">
    %t = loop.alloc "t" : memref<4x16xf32, "stack">
    %c = arith.constant 1.0 : f32
    loop.for %i = 0 to 16 {
      // CHECK: loop.store %c, %[[T]][0, %i]
      loop.store %c, %t[%o, %i] : memref<4x16xf32, "stack">
    }
    loop.for %i = 0 to 16 {
      // CHECK: loop.load %[[T]][0, %{{.*}} + 1] or 0.0 
      %a = loop.load %t[%o, %i + 1] or 0.0 : memref<4x16xf32, "stack">
      loop.store %a, %y[%o, %i] : memref<4x16xf32>
    }
  }
  func.return
}

// CHECK-LABEL: @whole_where_copied
func.func @whole_where_copied(%x: memref<16xf32>, %y: memref<16xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK: loop.alloc "t" : memref<16xf32>
  %t = loop.alloc "t" : memref<16xf32>
  loop.copy %x to %t : memref<16xf32> to memref<16xf32>
  %a = loop.load %t[3] : memref<16xf32>
  loop.store %a, %y[0] : memref<16xf32>
  func.return
}

// A fused loop's parts are as fixed as the loop itself.
// CHECK-LABEL: @fused_loop_around
func.func @fused_loop_around(%x: memref<3x2xf32>, %y: memref<6xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 6 {
    // CHECK: %[[T:.*]] = loop.alloc "t" : memref<1x1xf32, "register">
    %t = loop.alloc "t" : memref<3x2xf32, "register">
    %a = loop.load %x[%i floordiv 2, %i mod 2] : memref<3x2xf32>
    // CHECK: loop.store %a, %[[T]][0, 0]
    loop.store %a, %t[%i floordiv 2, %i mod 2] : memref<3x2xf32, "register">
    // CHECK: loop.load %[[T]][0, 0]
    %b = loop.load %t[%i floordiv 2, %i mod 2] : memref<3x2xf32, "register">
    loop.store %b, %y[%i] : memref<6xf32>
  }
  func.return
}

// A shared buffer lies outside of threads and keeps what an iteration around all accesses fills; its
// rows have the length that `align` asks for.
// CHECK-LABEL: @shared_tile_of_all_threads
func.func @shared_tile_of_all_threads(%x: memref<32x16xf32>, %y: memref<32x16xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %b = 0 to 4 block_x {
    // CHECK: %[[T:.*]] = loop.alloc "t" : memref<4x9xf32, "shared">
    %t = loop.alloc "t" {align = array<i64: 8, 1>} : memref<32x16xf32, "shared">
    loop.for %i = 0 to 8 thread_x {
      loop.for %k = 0 to 4 {
        loop.for %j = 0 to 4 {
          %a = loop.load %x[8 * %b + %i, 4 * %k + %j] : memref<32x16xf32>
          // CHECK: loop.store %a, %[[T]][%j, %i] : memref<4x9xf32, "shared">
          loop.store %a, %t[4 * %k + %j, 8 * %b + %i] : memref<32x16xf32, "shared">
        }
        loop.for %j = 0 to 4 {
          // CHECK: loop.load %[[T]][%{{.*}}, -1 * %i + 7] : memref<4x9xf32, "shared">
          %a = loop.load %t[4 * %k + %j, 8 * %b + 7 - %i] : memref<32x16xf32, "shared">
          loop.store %a, %y[8 * %b + %i, 4 * %k + %j] : memref<32x16xf32>
        }
      }
    }
  }
  func.return
}

// What an iteration reads before it is filled, may come from the one before.
// CHECK-LABEL: @shared_and_kept
func.func @shared_and_kept(%x: memref<16xf32>, %y: memref<16xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %b = 0 to 1 block_x {
    // CHECK: loop.alloc "t" : memref<16xf32, "shared">
    %t = loop.alloc "t" : memref<16xf32, "shared">
    loop.for %k = 0 to 16 {
      %a = loop.load %t[%k] : memref<16xf32, "shared">
      loop.store %a, %y[%k] : memref<16xf32>
      %c = loop.load %x[%k] : memref<16xf32>
      loop.store %c, %t[%k] : memref<16xf32, "shared">
    }
  }
  func.return
}
