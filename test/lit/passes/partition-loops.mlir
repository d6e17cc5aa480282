// RUN: nn-opt --partition-loops %s | filecheck %s

// CHECK-LABEL: @tail_is_peeled
func.func @tail_is_peeled(%x: memref<10xf32>, %y: memref<10xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK:      loop.for %o = 0 to 2 {
  // CHECK-NEXT:   loop.for %i = 0 to 4 {
  // CHECK-NEXT:     loop.load %x[4 * %o + %i]
  // CHECK:      loop.for %{{.*}} = 0 to 2 {
  // CHECK-NEXT:   loop.load %x[%{{.*}} + 8]
  // CHECK-NOT:  loop.if
  loop.for %o = 0 to 3 {
    loop.for %i = 0 to 4 {
      loop.if (9 - 4 * %o - %i >= 0) {
        %a = loop.load %x[4 * %o + %i] : memref<10xf32>
        loop.store %a, %y[4 * %o + %i] : memref<10xf32>
      }
    }
  }
  // CHECK: func.return
  func.return
}

// CHECK-LABEL: @rising_condition_stays
func.func @rising_condition_stays(%y: memref<10xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK:      loop.for %i = 0 to 10 {
  // CHECK-NEXT:   %{{.*}} = arith.constant
  // CHECK-NEXT:   loop.if (%i - 3 >= 0) {
  loop.for %i = 0 to 10 {
    %c = arith.constant 1.0 : f32
    loop.if (%i - 3 >= 0) {
      loop.store %c, %y[%i] : memref<10xf32>
    }
  }
  func.return
}

// CHECK-LABEL: @condition_on_a_remainder_stays
func.func @condition_on_a_remainder_stays(%y: memref<10xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK:      loop.for %i = 0 to 10 {
  // CHECK:        loop.if (
  loop.for %i = 0 to 10 {
    %c = arith.constant 1.0 : f32
    loop.if (1 - %i mod 4 >= 0) {
      loop.store %c, %y[%i] : memref<10xf32>
    }
  }
  func.return
}

// CHECK-LABEL: @borders_of_a_padded_read
func.func @borders_of_a_padded_read(%x: memref<10xf32>, %y: memref<10xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK-NEXT: loop.for %{{.*}} = 0 to 3 unroll {
  // CHECK-NEXT:   loop.load %x[%{{.*}} - 1] or 0.0
  // CHECK:      loop.for %i = 0 to 8 {
  // CHECK-NEXT:   loop.for %{{.*}} = 0 to 3 unroll {
  // CHECK-NEXT:     loop.load %x[%i + %{{.*}}] : memref<10xf32>
  // CHECK:      loop.for %{{.*}} = 0 to 3 unroll {
  // CHECK-NEXT:   loop.load %x[%{{.*}} + 8] or 0.0
  loop.for %i = 0 to 10 {
    loop.for %r = 0 to 3 unroll {
      %a = loop.load %x[%i + %r - 1] or 0.0 : memref<10xf32>
      loop.store %a, %y[%i] : memref<10xf32>
    }
  }
  func.return
}

// The window's own loop is asked next: it loses the iteration that is outside.
// CHECK-LABEL: @borders_of_a_rolled_window
func.func @borders_of_a_rolled_window(%x: memref<10xf32>, %y: memref<10xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK-NEXT: loop.load %x[-1] or 0.0
  // CHECK:      loop.for %{{.*}} = 0 to 2 {
  // CHECK-NEXT:   loop.load %x[%{{.*}}] : memref<10xf32>
  // CHECK:      loop.for %i = 0 to 8 {
  // CHECK-NEXT:   loop.for %{{.*}} = 0 to 3 {
  // CHECK-NEXT:     loop.load %x[%i + %{{.*}}] : memref<10xf32>
  // CHECK:      loop.for %{{.*}} = 0 to 2 {
  // CHECK-NEXT:   loop.load %x[%{{.*}} + 8] : memref<10xf32>
  // CHECK:      loop.load %x[10] or 0.0
  loop.for %i = 0 to 10 {
    loop.for %r = 0 to 3 {
      %a = loop.load %x[%i + %r - 1] or 0.0 : memref<10xf32>
      loop.store %a, %y[%i] : memref<10xf32>
    }
  }
  func.return
}

// Many iterations on a border stay one loop, whose inner loops are not asked: they have another end
// in each.
// CHECK-LABEL: @read_moved_by_a_loop_around_stays
func.func @read_moved_by_a_loop_around_stays(%x: memref<10xf32>, %y: memref<10xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK-NEXT: loop.for %{{.*}} = 0 to 4 {
  // CHECK-NEXT:   loop.for %{{.*}} = 0 to 10 {
  // CHECK-NEXT:     loop.load %x[%{{.*}} + %{{.*}} - 4] or 0.0
  // CHECK:      loop.for %{{.*}} = 0 to 10 {
  // CHECK-NEXT:   loop.load %x[%{{.*}}] : memref<10xf32>
  // CHECK:      loop.for %{{.*}} = 0 to 4 {
  // CHECK-NEXT:   loop.for %{{.*}} = 0 to 10 {
  // CHECK-NEXT:     loop.load %x[%{{.*}} + %{{.*}} + 1] or 0.0
  loop.for %r = 0 to 9 {
    loop.for %i = 0 to 10 {
      %a = loop.load %x[%i + %r - 4] or 0.0 : memref<10xf32>
      loop.store %a, %y[%i] : memref<10xf32>
    }
  }
  func.return
}

// The first and the last row test their columns: only the rows between are split once more.
// CHECK-LABEL: @corners_stay_tests
func.func @corners_stay_tests(%x: memref<9x10xf32>, %y: memref<9x10xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK-NEXT: loop.for %{{.*}} = 0 to 10 {
  // CHECK:      loop.for %{{.*}} = 0 to 7 {
  // CHECK:        loop.for %{{.*}} = 0 to 8 {
  // CHECK-NEXT:     loop.for %{{.*}} = 0 to 3 unroll {
  // CHECK-NEXT:       loop.for %{{.*}} = 0 to 3 unroll {
  // CHECK-NEXT:         loop.load %x[%{{.*}}, %{{.*}}] : memref<9x10xf32>
  // CHECK:      loop.for %{{.*}} = 0 to 10 {
  // CHECK-NOT:  loop.for %{{.*}} = 0 to 8
  loop.for %i = 0 to 9 {
    loop.for %j = 0 to 10 {
      loop.for %r = 0 to 3 unroll {
        loop.for %s = 0 to 3 unroll {
          %a = loop.load %x[%i + %r - 1, %j + %s - 1] or 0.0 : memref<9x10xf32>
          loop.store %a, %y[%i, %j] : memref<9x10xf32>
        }
      }
    }
  }
  // CHECK: func.return
  func.return
}

// A line that is computed at once leaves the image at both ends: the first and the last line are
// whole lines, not corners, and become code of their own.
// CHECK-LABEL: @whole_lines
func.func @whole_lines(%x: memref<9x3xf32>, %y: memref<9x3xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK-NEXT: loop.for %{{.*}} = 0 to 3 unroll {
  // CHECK:        loop.load %x[%{{.*}} - 1, %{{.*}} + %{{.*}} - 1] or 0.0
  // CHECK:      loop.for %{{.*}} = 0 to 7 {
  // CHECK:        loop.load %x[%{{.*}} + %{{.*}}, %{{.*}} + %{{.*}} - 1] or 0.0
  // CHECK:      loop.for %{{.*}} = 0 to 3 unroll {
  // CHECK:        loop.load %x[%{{.*}} + 7, %{{.*}} + %{{.*}} - 1] or 0.0
  loop.for %i = 0 to 9 {
    loop.for %j = 0 to 3 unroll {
      loop.for %r = 0 to 3 unroll {
        loop.for %s = 0 to 3 unroll {
          %a = loop.load %x[%i + %r - 1, %j + %s - 1] or 0.0 : memref<9x3xf32>
          loop.store %a, %y[%i, %j] : memref<9x3xf32>
        }
      }
    }
  }
  func.return
}
