// RUN: nn-opt --cse %s | filecheck %s

// CHECK-LABEL: @equal_ops_become_one
func.func @equal_ops_become_one(%x: f32) -> (f32, f32) {
  // CHECK:     %[[MUL:.*]] = arith.mulf
  // CHECK-NOT: arith.mulf
  // CHECK:     func.return %[[MUL]], %[[MUL]]
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}

// CHECK-LABEL: @zeros_of_two_signs_stay
func.func @zeros_of_two_signs_stay() -> (f32, f32) {
  // CHECK: 0.000000e+00
  // CHECK: -0.000000e+00
  %a = arith.constant 0.0 : f32
  %b = arith.constant -0.0 : f32
  func.return %a, %b : f32, f32
}

// CHECK-LABEL: @dominating_op_serves_later_blocks
func.func @dominating_op_serves_later_blocks(%c: i1, %x: f32) -> f32 {
  // CHECK:     arith.mulf
  // CHECK-NOT: arith.mulf
  %a = arith.mulf %x, %x : f32
  cf.cond_br %c, ^left(%a : f32), ^right
^left(%p: f32):
  func.return %p : f32
^right:
  %b = arith.mulf %x, %x : f32
  func.return %b : f32
}

// CHECK-LABEL: @siblings_do_not_serve_each_other
func.func @siblings_do_not_serve_each_other(%c: i1, %x: f32) -> f32 {
  // CHECK: arith.mulf
  // CHECK: arith.mulf
  cf.cond_br %c, ^left, ^right
^left:
  %a = arith.mulf %x, %x : f32
  func.return %a : f32
^right:
  %b = arith.mulf %x, %x : f32
  func.return %b : f32
}

// CHECK-LABEL: @equal_regions_become_one
func.func @equal_regions_become_one(%c: i1, %x: f32) -> (f32, f32) {
  // CHECK:     scf.if
  // CHECK-NOT: scf.if
  %a = scf.if %c -> (f32) {
    %s = arith.mulf %x, %x : f32
    scf.yield %s : f32
  } else {
    scf.yield %x : f32
  }
  %b = scf.if %c -> (f32) {
    %t = arith.mulf %x, %x : f32
    scf.yield %t : f32
  } else {
    scf.yield %x : f32
  }
  func.return %a, %b : f32, f32
}

// CHECK-LABEL: @different_regions_stay
func.func @different_regions_stay(%c: i1, %x: f32) -> (f32, f32) {
  // CHECK: scf.if
  // CHECK: scf.if
  %a = scf.if %c -> (f32) {
    %s = arith.mulf %x, %x : f32
    scf.yield %s : f32
  } else {
    scf.yield %x : f32
  }
  %b = scf.if %c -> (f32) {
    %t = arith.addf %x, %x : f32
    scf.yield %t : f32
  } else {
    scf.yield %x : f32
  }
  func.return %a, %b : f32, f32
}

// CHECK-LABEL: @reads_of_memory_stay
func.func @reads_of_memory_stay(%m: memref<4xf32>, %i: index, %v: f32) -> (f32, f32) {
  // CHECK: memref.load
  // CHECK: memref.store
  // CHECK: memref.load
  %a = memref.load %m[%i] : memref<4xf32>
  memref.store %v, %m[%i] : memref<4xf32>
  %b = memref.load %m[%i] : memref<4xf32>
  func.return %a, %b : f32, f32
}
