// What xDSL prints in the generic form alone has MLIR's own text here.
// RUN: nn-opt %s | filecheck %s
// RUN: nn-opt %s | nn-opt | filecheck %s
// RUN: nn-opt %s --print-op-generic | nn-opt | filecheck %s
// RUN: nn-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK:   memref.global "private" constant @c : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]> {alignment = 64 : i64}
// CHECK:   memref.global @u : memref<2x3xi8> = uninitialized
// CHECK:   memref.global "nested" @s : memref<4xf32> = dense<5.000000e-01>
memref.global "private" constant @c : memref<2xf32> = dense<[1.0, 2.0]> {alignment = 64 : i64}
memref.global @u : memref<2x3xi8> = uninitialized
memref.global "nested" @s : memref<4xf32> = dense<0.5>

// CHECK-LABEL: @loops
func.func @loops(%x: memref<4xf32>, %z: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK:      scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c4) step (%c1, %c1) {
  // CHECK-NEXT:   scf.reduce
  // CHECK-NEXT: } {tag}
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c4) step (%c1, %c1) {
  } {tag}
  // CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c4) step (%c1) init (%z) -> f32 {
  // CHECK:   scf.reduce(%{{.*}} : f32) {
  %r = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%z) -> f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  // CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c4) step (%c1) init (%z, %r) -> (f32, f32) {
  %p, %q = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%z, %r) -> (f32, f32) {
    %v = memref.load %x[%i] : memref<4xf32>
    scf.reduce(%v, %v : f32, f32) {
    ^bb0(%a: f32, %b: f32):
      scf.reduce.return %a : f32
    }, {
    ^bb0(%a: f32, %b: f32):
      scf.reduce.return %b : f32
    }
  }
  func.return %q : f32
}

// CHECK-LABEL: @flags
func.func @flags(%i: i32) -> i8 {
  // CHECK: arith.trunci %i overflow<nsw,nuw> : i32 to i8
  // CHECK: arith.trunci %i {a = 1 : i32} : i32 to i8
  // GENERIC: "arith.trunci"(%i) <{overflowFlags = #arith.overflow<none>}> {a = 1 : i32} : (i32) -> i8
  %a = arith.trunci %i overflow<nsw, nuw> : i32 to i8
  %b = arith.trunci %i {a = 1 : i32} : i32 to i8
  func.return %a : i8
}

// CHECK-LABEL: @addresses
llvm.func @addresses(%p: !llvm.ptr, %i: i64) {
  // CHECK: llvm.getelementptr inbounds %p[3]
  // CHECK: llvm.getelementptr inbounds|nuw %p[%i]
  // CHECK: llvm.getelementptr nusw %p[%i]
  // CHECK: llvm.trunc %i overflow<nsw> : i64 to i32
  // CHECK: llvm.trunc %i overflow<nuw> : i64 to i32
  // GENERIC: noWrapFlags = 7 : i32
  %a = llvm.getelementptr inbounds %p[3] : (!llvm.ptr) -> !llvm.ptr, f32
  %b = llvm.getelementptr inbounds|nuw %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %c = llvm.getelementptr nusw %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %d = llvm.trunc %i overflow<nsw> : i64 to i32
  %e = "llvm.trunc"(%i) <{overflowFlags = 2 : i32}> : (i64) -> i32
  llvm.return
}
