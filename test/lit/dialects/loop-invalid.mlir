// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @rank(%x: memref<8x8xf32>) {
  // expected-error@+1 {{loop.load: has 1 indices for a buffer of rank 2}}
  %a = loop.load %x[0] : memref<8x8xf32>
  func.return
}

// -----

func.func @store_rank(%x: memref<8x8xf32>, %v: f32) {
  // expected-error@+1 {{loop.store: has 3 indices for a buffer of rank 2}}
  loop.store %v, %x[0, 0, 0] : memref<8x8xf32>
  func.return
}

// -----

func.func @values(%x: memref<8xf32>, %i: index) {
  // expected-error@+1 {{loop.load: map takes 2 values, 1 are given}}
  %a = "loop.load"(%x, %i) <{map = affine_map<(d0, d1) -> (d0)>}> : (memref<8xf32>, index) -> f32
  func.return
}

// -----

func.func @element(%x: memref<8xf32>) {
  // expected-error@+1 {{loop.load: accesses vector<4xi32> in a buffer of f32}}
  %a = loop.load %x[0] : memref<8xf32>, vector<4xi32>
  func.return
}

// -----

func.func @store_element(%x: memref<8xf32>, %v: i32) {
  // expected-error@+1 {{loop.store: accesses i32 in a buffer of f32}}
  "loop.store"(%v, %x) <{map = affine_map<() -> (0)>}> : (i32, memref<8xf32>) -> ()
  func.return
}

// -----

func.func @kind() {
  // expected-error@+1 {{loop.for: kind is 'fast', expected one of serial, parallel, vector, unroll}}
  "loop.for"() <{extent = 4 : index, kind = "fast"}> ({
  ^bb0(%i: index):
  }) : () -> ()
  func.return
}

// -----

func.func @extent() {
  // expected-error@+1 {{loop.for: extent is -4, expected at least 0}}
  "loop.for"() <{extent = -4 : index, kind = "serial"}> ({
  ^bb0(%i: index):
  }) : () -> ()
  func.return
}

// -----

func.func @no_index() {
  // expected-error@+1 {{loop.for: body takes (i32), expected (index)}}
  "loop.for"() <{extent = 4 : index, kind = "serial"}> ({
  ^bb0(%i: i32):
  }) : () -> ()
  func.return
}

// -----

func.func @if_values(%i: index) {
  // expected-error@+1 {{loop.if: map takes 2 values, 1 are given}}
  "loop.if"(%i) <{conditions = affine_map<(d0, d1) -> (d0)>}> ({
  ^bb0:
  }) : (index) -> ()
  func.return
}

// -----

func.func @if_argument(%i: index) {
  // expected-error@+1 {{loop.if: body takes (index), expected ()}}
  "loop.if"(%i) <{conditions = affine_map<(d0) -> (d0)>}> ({
  ^bb0(%j: index):
  }) : (index) -> ()
  func.return
}

// -----

func.func @apply_values(%i: index) {
  // expected-error@+1 {{loop.apply: map gives 2 values, expected 1}}
  %a = "loop.apply"(%i) <{map = affine_map<(d0) -> (d0, d0)>}> : (index) -> index
  func.return
}

// -----

func.func @apply_operands(%i: index) {
  // expected-error@+1 {{loop.apply: map takes 2 values, 1 are given}}
  %a = "loop.apply"(%i) <{map = affine_map<(d0, d1) -> (d0)>}> : (index) -> index
  func.return
}

// -----

func.func @bindings(%i: index) {
  // expected-error@+1 {{loop.block: has 1 bindings and 2 kinds, expected 2 of both: one an axis}}
  "loop.block"(%i) <{stage = "s", bindings = affine_map<(d0) -> (d0)>, sizes = array<i64: 4, 4>, kinds = ["par", "par"], conditions = affine_map<(d0) -> ()>}> ({
  ^bb0(%a: index, %b: index):
  }) : (index) -> ()
  func.return
}

// -----

func.func @block_values(%i: index) {
  // expected-error@+1 {{loop.block: map takes 2 values, 1 are given}}
  "loop.block"(%i) <{stage = "s", bindings = affine_map<(d0) -> (d0)>, sizes = array<i64: 4>, kinds = ["par"], conditions = affine_map<(d0, d1) -> ()>}> ({
  ^bb0(%a: index):
  }) : (index) -> ()
  func.return
}

// -----

func.func @block_region(%i: index) {
  // expected-error@+1 {{loop.block: a region takes (), expected an index an axis: 1}}
  "loop.block"(%i) <{stage = "s", bindings = affine_map<(d0) -> (d0)>, sizes = array<i64: 4>, kinds = ["par"], conditions = affine_map<(d0) -> ()>}> ({
  ^bb0:
  }) : (index) -> ()
  func.return
}

// -----

func.func @block_kind(%i: index) {
  // expected-error@+1 {{loop.block: kind is 'any', expected one of par, reduce, seq}}
  "loop.block"(%i) <{stage = "s", bindings = affine_map<(d0) -> (d0)>, sizes = array<i64: 4>, kinds = ["any"], conditions = affine_map<(d0) -> ()>}> ({
  ^bb0(%a: index):
  }) : (index) -> ()
  func.return
}

// -----

func.func @space() {
  // expected-error@+1 {{loop.alloc: memory space is 'distant', expected one of global, shared, stack, register}}
  %a = loop.alloc "a" : memref<4xf32, "distant">
  func.return
}

// -----

func.func @view(%x: memref<4xf32>) {
  // expected-error@+1 {{loop.view: ends at byte 20, expected at most 16}}
  %a = loop.view %x offset 1 : memref<4xf32> to memref<2x2xf32>
  func.return
}

// -----

func.func @view_values(%x: memref<4xf32>, %i: index) {
  // expected-error@+1 {{loop.view: offset takes 2 values, 1 are given}}
  %a = "loop.view"(%x, %i) <{offset = affine_map<(d0, d1) -> (d0)>}> : (memref<4xf32>, index) -> memref<2xf32>
  func.return
}

// -----

func.func @view_offset(%x: memref<4xf32>, %i: index) {
  // expected-error@+1 {{loop.view: offset gives 2 values, expected 1}}
  %a = "loop.view"(%x, %i) <{offset = affine_map<(d0) -> (d0, d0)>}> : (memref<4xf32>, index) -> memref<2xf32>
  func.return
}

// -----

func.func @copy(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{loop.copy: copies 16 bytes to 20, expected as many}}
  loop.copy %x to %y : memref<4xf32> to memref<5xf32>
  func.return
}

// -----

func.func @gather_rank(%x: memref<4xf32>, %i: vector<4xi64>) {
  // expected-error@+1 {{loop.gather: has 2 indices for a buffer of rank 1}}
  %a = loop.gather 4 %x[%i, %i] : memref<4xf32>
  func.return
}

// -----

func.func @gather_element(%x: memref<4xf32>, %i: vector<4xi64>) {
  // expected-error@+1 {{loop.gather: reads vector<4xi32> in a buffer of f32}}
  %a = "loop.gather"(%x, %i) : (memref<4xf32>, vector<4xi64>) -> vector<4xi32>
  func.return
}

// -----

func.func @gather_lanes(%x: memref<4xf32>, %i: vector<8xi64>) {
  // expected-error@+1 {{loop.gather: an index is vector<8xi64>, expected vector<4xi64>}}
  %a = "loop.gather"(%x, %i) : (memref<4xf32>, vector<8xi64>) -> vector<4xf32>
  func.return
}

// -----

func.func @select_lanes(%c: vector<8xi1>, %i: vector<4xi64>) {
  // expected-error@+1 {{arith.select: selects vector<4xi64> by vector<8xi1>, expected as many lanes}}
  %a = arith.select %c, %i, %i : vector<8xi1>, vector<4xi64>
  func.return
}

// -----

func.func @cast_lanes(%i: vector<4xi32>) {
  // expected-error@+1 {{arith.extsi: casts vector<4xi32> to vector<8xi64>, expected as many lanes}}
  %a = arith.extsi %i : vector<4xi32> to vector<8xi64>
  func.return
}

// -----

func.func @cast_narrow(%i: vector<4xi32>) {
  // expected-error@+1 {{arith.extsi: casts vector<4xi32> to vector<4xi8>, expected a wider type}}
  %a = arith.extsi %i : vector<4xi32> to vector<4xi8>
  func.return
}

// -----

func.func @cast_index(%i: i32) {
  // expected-error@+1 {{arith.index_cast: casts i32 to i64, expected index for one of them}}
  %a = arith.index_cast %i : i32 to i64
  func.return
}

// -----

func.func @float_in_integer(%s: vector<16xi32>, %a: vector<2xbf16>, %b: vector<32xbf16>) {
  // expected-error@+1 {{sums bf16 in i32, expected a float}}
  %u = loop.dot %s, %a, %b : vector<16xi32>, vector<2xbf16>
  func.return
}

// -----

func.func @sign_of_a_float(%s: vector<16xf32>, %a: vector<2xbf16>, %b: vector<32xbf16>) {
  // expected-error@+1 {{bf16 has no sign to drop}}
  %u = loop.dot unsigned %s, %a, %b : vector<16xf32>, vector<2xbf16>
  func.return
}

// -----

func.func @exponents_of_other_lanes(%x: vector<8xf32>, %n: vector<4xi32>) {
  // expected-error@+1 {{exponent is vector<4xi32>, expected vector<8xi32>}}
  %y = loop.ldexp %x, %n : vector<8xf32>, vector<4xi32>
  func.return
}
