// RUN: nn-opt --verify-diagnostics --split-input-file %s

llvm.func @compares(%u: vector<4xf32>) {
  // expected-error @+1 {{result is i1, expected vector<4xi1>}}
  %a = "llvm.fcmp"(%u, %u) <{predicate = 4 : i64}> : (vector<4xf32>, vector<4xf32>) -> i1
  llvm.return
}

// -----

llvm.func @chooses(%m: vector<8xi1>, %u: vector<4xf32>) {
  // expected-error @+1 {{chooses by 8 conditions among vector<4xf32>}}
  %a = llvm.select %m, %u, %u : vector<8xi1>, vector<4xf32>
  llvm.return
}

// -----

func.func @atomic(%p: !llvm.ptr, %v: i32) {
  // expected-error@+1 {{llvm.atomicrmw: its kind has the number 77, which stands for none}}
  %a = "llvm.atomicrmw"(%p, %v) <{bin_op = 77 : i64, ordering = 2 : i64}> : (!llvm.ptr, i32) -> i32
  func.return
}
