// RUN: nn-opt %s | nn-opt | filecheck %s
// RUN: nn-opt --print-op-generic %s | nn-opt | filecheck %s

// What xDSL's dialect lacks, or has for scalars only.
// CHECK-LABEL: llvm.func @lanes
llvm.func @lanes(%u: vector<4xf32>, %i: i64, %p: !llvm.ptr, %o: vector<4xi32>, %x: f32) {
  // CHECK: llvm.extractelement %u[%i : i64] : vector<4xf32>
  %a = llvm.extractelement %u[%i : i64] : vector<4xf32>
  // CHECK: llvm.fcmp "olt" %u, %u : vector<4xf32>
  %b = llvm.fcmp "olt" %u, %u : vector<4xf32>
  // CHECK: llvm.select %b, %u, %u : vector<4xi1>, vector<4xf32>
  %c = llvm.select %b, %u, %u : vector<4xi1>, vector<4xf32>
  // CHECK: llvm.getelementptr %p[%o] : (!llvm.ptr, vector<4xi32>) -> vector<4x!llvm.ptr>, f32
  %d = llvm.getelementptr %p[%o] : (!llvm.ptr, vector<4xi32>) -> vector<4x!llvm.ptr>, f32
  // CHECK: llvm.atomicrmw fadd %p, %x monotonic : !llvm.ptr, f32
  %f = llvm.atomicrmw fadd %p, %x monotonic : !llvm.ptr, f32
  // CHECK: llvm.getelementptr inbounds %p[%i, 3] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x f32>
  %e = llvm.getelementptr inbounds %p[%i, 3] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x f32>
  llvm.return
}

// CHECK-LABEL: llvm.func @numbers
llvm.func @numbers(%y: f32, %k: i32) {
  // CHECK: llvm.mlir.poison : vector<4xf32>
  %a = llvm.mlir.poison : vector<4xf32>
  // CHECK: llvm.uitofp %k : i32 to f32
  %b = llvm.uitofp %k : i32 to f32
  // CHECK: llvm.fptosi %y : f32 to i8
  %c = llvm.fptosi %y : f32 to i8
  // CHECK: llvm.fptoui %y : f32 to i16
  %d = llvm.fptoui %y : f32 to i16
  llvm.return
}
