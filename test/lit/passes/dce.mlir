// RUN: nn-opt --dce %s | filecheck %s

// CHECK-LABEL: @unread_chain_goes
func.func @unread_chain_goes(%x: f32) -> f32 {
  // CHECK-NOT: arith
  // CHECK:     func.return
  %a = arith.mulf %x, %x : f32
  %b = arith.addf %a, %x : f32
  func.return %x : f32
}

// CHECK-LABEL: @effects_stay
func.func @effects_stay(%m: memref<4xf32>, %i: index, %x: f32) {
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: func.return
  %a = arith.mulf %x, %x : f32
  memref.store %a, %m[%i] : memref<4xf32>
  %b = memref.load %m[%i] : memref<4xf32>
  func.return
}

// CHECK-LABEL: @unread_region_goes
func.func @unread_region_goes(%c: i1, %x: f32) -> f32 {
  // CHECK-NOT: scf.if
  %a = scf.if %c -> (f32) {
    scf.yield %x : f32
  } else {
    scf.yield %x : f32
  }
  func.return %x : f32
}
