// RUN: nn-opt --simplify-scans --dce --split-input-file %s | filecheck %s

// CHECK-LABEL: @what_depends_on_no_step_is_done_once
func.func @what_depends_on_no_step_is_done_once(%h: tensor<4xf32>, %xs: tensor<9x4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      %[[W:.*]] = graph.exp %w
  // CHECK:      graph.scan (%[[S:.*]] = %h : tensor<4xf32>) over (%[[X:.*]] = %xs : tensor<9x4xf32>)
  // CHECK-NEXT:   %[[A:.*]] = graph.mul %[[S]], %[[W]]
  // CHECK-NEXT:   %[[B:.*]] = graph.add %[[A]], %[[X]]
  // CHECK-NEXT:   graph.yield %[[B]]
  %r = graph.scan (%s = %h : tensor<4xf32>) over (%x = %xs : tensor<9x4xf32>) -> (tensor<4xf32>) {
    %e = graph.exp %w : tensor<4xf32>
    %a = graph.mul %s, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = graph.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// CHECK-LABEL: @products_of_slices_are_done_for_all_steps
func.func @products_of_slices_are_done_for_all_steps(%h: tensor<2x3xf32>, %xs: tensor<9x2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  // CHECK:      %[[F:.*]] = graph.reshape %xs : (tensor<9x2x4xf32>) -> tensor<18x4xf32>
  // CHECK-NEXT: %[[P:.*]] = graph.matmul %[[F]], %w
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %[[P]] : (tensor<18x3xf32>) -> tensor<9x2x3xf32>
  // CHECK-NEXT: graph.scan (%[[S:.*]] = %h : tensor<2x3xf32>) over (%[[X:.*]] = %[[R]] : tensor<9x2x3xf32>)
  // CHECK-NEXT:   graph.add %[[S]], %[[X]]
  %r = graph.scan (%s = %h : tensor<2x3xf32>) over (%x = %xs : tensor<9x2x4xf32>) -> (tensor<2x3xf32>) {
    %p = graph.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %b = graph.add %s, %p : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    graph.yield %b : tensor<2x3xf32>
  }
  func.return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @entry_t_at_step_t_is_a_slice
func.func @entry_t_at_step_t_is_a_slice(%h: tensor<4xf32>, %xs: tensor<4x5xf32>) -> tensor<4xf32> {
  // CHECK:      %[[P:.*]] = graph.slice %xs starts [0, 2] sizes [4, 3] steps [1, 1]
  // CHECK-NEXT: %[[T:.*]] = graph.transpose %[[P]] perm [1, 0]
  // CHECK-NEXT: graph.scan ({{.*}} = %h : tensor<4xf32>) over ({{.*}} = %[[T]] : tensor<3x4xf32>)
  // CHECK-NOT:    graph.gather
  %n = graph.constant dense<[2, 3, 4]> : tensor<3xi64>
  %r = graph.scan (%s = %h : tensor<4xf32>) over (%i = %n : tensor<3xi64>) -> (tensor<4xf32>) {
    %x = graph.gather %xs, %i axis 1 : (tensor<4x5xf32>, tensor<i64>) -> tensor<4xf32>
    %b = graph.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// Numbers that leave the tensor, or are no sequence, are left to the gather.
// CHECK-LABEL: @other_entries_are_gathered
func.func @other_entries_are_gathered(%h: tensor<4xf32>, %xs: tensor<4x5xf32>) -> tensor<4xf32> {
  // CHECK: graph.gather
  // CHECK: graph.gather
  %n = graph.constant dense<[2, 4, 0]> : tensor<3xi64>
  %m = graph.constant dense<[-1, 0, 1]> : tensor<3xi64>
  %r = graph.scan (%s = %h : tensor<4xf32>) over (%i = %n : tensor<3xi64>, %j = %m : tensor<3xi64>) -> (tensor<4xf32>) {
    %x = graph.gather %xs, %i axis 1 : (tensor<4x5xf32>, tensor<i64>) -> tensor<4xf32>
    %y = graph.gather %xs, %j axis 1 : (tensor<4x5xf32>, tensor<i64>) -> tensor<4xf32>
    %a = graph.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = graph.add %s, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// A state that nothing reads, one that never changes, a slice, an output.
// CHECK-LABEL: @what_nothing_reads_goes
func.func @what_nothing_reads_goes(%h: tensor<4xf32>, %c: tensor<4xf32>, %xs: tensor<9x4xf32>, %zs: tensor<9x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK:      %[[R:.*]] = graph.scan (%[[S:.*]] = %h : tensor<4xf32>) over (%[[X:.*]] = %xs : tensor<9x4xf32>) reverse -> (tensor<4xf32>) {
  // CHECK-NEXT:   %[[A:.*]] = graph.mul %[[S]], %c
  // CHECK-NEXT:   %[[B:.*]] = graph.add %[[A]], %[[X]]
  // CHECK-NEXT:   graph.yield %[[B]]
  // CHECK:      func.return %[[R]], %c
  %r, %k, %u, %o = graph.scan (%s = %h : tensor<4xf32>, %d = %c : tensor<4xf32>, %t = %h : tensor<4xf32>) over (%x = %xs : tensor<9x4xf32>, %z = %zs : tensor<9x2xf32>) reverse -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<9x2xf32>) {
    %a = graph.mul %s, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = graph.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v = graph.add %t, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %w = graph.exp %z : tensor<2xf32>
    graph.yield %b, %d, %v, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
  }
  func.return %r, %k : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @one_step_is_no_scan
func.func @one_step_is_no_scan(%h: tensor<4xf32>, %xs: tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  // CHECK-NEXT: %[[X:.*]] = graph.reshape %xs : (tensor<1x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = graph.add %h, %[[X]]
  // CHECK-NEXT: %[[E:.*]] = graph.exp %[[B]]
  // CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[E]] : (tensor<4xf32>) -> tensor<1x4xf32>
  // CHECK-NEXT: func.return %[[B]], %[[Y]]
  %r, %ys = graph.scan (%s = %h : tensor<4xf32>) over (%x = %xs : tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
    %b = graph.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = graph.exp %b : tensor<4xf32>
    graph.yield %b, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r, %ys : tensor<4xf32>, tensor<1x4xf32>
}

// -----

// CHECK-LABEL: @no_step_leaves_the_states
func.func @no_step_leaves_the_states(%h: tensor<4xf32>, %xs: tensor<0x4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  // CHECK:      %[[Y:.*]] = graph.constant {{.*}} tensor<0x4xf32>
  // CHECK-NEXT: func.return %h, %[[Y]]
  %r, %ys = graph.scan (%s = %h : tensor<4xf32>) over (%x = %xs : tensor<0x4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
    %b = graph.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %b, %x : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r, %ys : tensor<4xf32>, tensor<0x4xf32>
}
