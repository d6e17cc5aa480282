// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @no_result() {
  // expected-error@+1 {{tensor.compute: has no result, expected one at least}}
  "tensor.compute"() <{stage = "s", sizes = array<i64>}> ({
    "tensor.yield"() : () -> ()
  }) : () -> ()
  func.return
}

// -----

func.func @result_shape() {
  // expected-error@+1 {{tensor.compute: result is tensor<5xf32>, but its axes have [4]}}
  %y = tensor.compute "s" (%i: 4) : tensor<5xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @index_count() {
  // expected-error@+1 {{tensor.compute: body has 0 indices for 1 axes}}
  %y = "tensor.compute"() <{stage = "s", sizes = array<i64: 4>}> ({
    %c = arith.constant 1.0 : f32
    "tensor.yield"(%c) : (f32) -> ()
  }) : () -> tensor<4xf32>
  func.return
}

// -----

func.func @index_type() {
  // expected-error@+1 {{tensor.compute: body takes (i64), expected indices}}
  %y = "tensor.compute"() <{stage = "s", sizes = array<i64: 4>}> ({
  ^bb0(%i: i64):
    %c = arith.constant 1.0 : f32
    "tensor.yield"(%c) : (f32) -> ()
  }) : () -> tensor<4xf32>
  func.return
}

// -----

func.func @negative_size() {
  // expected-error@+1 {{tensor.compute: axes have [4, -2], expected sizes of at least 0}}
  %y = tensor.compute "s" (%i: 4) reduce fast add (%k: -2) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @reduction_without_combiner() {
  // expected-error@+1 {{tensor.compute: a reduction needs both a combiner and reduce axes}}
  %y = tensor.compute "s" (%i: 4, %j: 4) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @combiner() {
  // expected-error@+1 {{tensor.compute: combiner is 'xor', expected one of add, mul, max, min, and, or, custom}}
  %y = tensor.compute "s" (%i: 4) reduce fast xor (%k: 2) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @order() {
  // expected-error@+1 {{tensor.compute: order is 'slow', expected one of fast, ordered}}
  %y = tensor.compute "s" (%i: 4) reduce slow add (%k: 2) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @yielded() {
  // expected-error@+1 {{tensor.compute: body yields i32, expected f32}}
  %y = tensor.compute "s" (%i: 4) : tensor<4xf32> {
    %c = arith.constant 1 : i32
    tensor.yield %c : i32
  }
  func.return
}

// -----

func.func @init_without_custom() {
  // expected-error@+1 {{tensor.compute: the combiner `custom`, and no other, takes `init` and `combine`}}
  %y = tensor.compute "s" (%i: 4) reduce fast add (%k: 2) init (0.0) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @init_count() {
  // expected-error@+1 {{tensor.compute: init has 2 values for 1 results}}
  %y = tensor.compute "s" (%i: 4) reduce fast custom (%k: 2) init (0.0, 1.0) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    tensor.yield %a : f32
  }
  func.return
}

// -----

func.func @combine_arguments() {
  // expected-error@+1 {{tensor.compute: combine takes (f32), expected (f32, f32)}}
  %y = tensor.compute "s" (%i: 4) reduce fast custom (%k: 2) init (0.0) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  } combine {
  ^bb0(%a: f32):
    tensor.yield %a : f32
  }
  func.return
}

// -----

func.func @combine_yields() {
  // expected-error@+1 {{tensor.compute: combine does not yield (f32)}}
  %y = tensor.compute "s" (%i: 4) reduce fast custom (%k: 2) init (0.0) : tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    tensor.yield %a, %b : f32, f32
  }
  func.return
}

// -----

func.func @read_rank(%x: tensor<4x4xf32>) {
  %y = tensor.compute "s" (%i: 4) : tensor<4xf32> {
    // expected-error@+1 {{tensor.read: has 1 indices for a tensor of rank 2}}
    %c = tensor.read %x[%i] : tensor<4x4xf32>
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @read_values(%x: tensor<4xf32>) {
  %y = tensor.compute "s" (%i: 4) : tensor<4xf32> {
    // expected-error@+1 {{tensor.read: map takes 2 dimensions, 1 values given}}
    %c = "tensor.read"(%x, %i) <{map = affine_map<(d0, d1) -> (d0)>}> : (tensor<4xf32>, index) -> f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @read_element(%x: tensor<4xf32>) {
  %y = tensor.compute "s" (%i: 4) : tensor<4xf64> {
    // expected-error@+1 {{tensor.read: reads f64 from a tensor of f32}}
    %c = "tensor.read"(%x, %i) <{map = affine_map<(d0) -> (d0)>}> : (tensor<4xf32>, index) -> f64
    tensor.yield %c : f64
  }
  func.return
}

// -----

func.func @read_default(%x: tensor<4xf32>) {
  %y = tensor.compute "s" (%i: 4) : tensor<4xf32> {
    // expected-error@+1 {{tensor.read: default is 1 : i32, expected a number of f32}}
    %c = "tensor.read"(%x, %i) <{map = affine_map<(d0) -> (d0)>, default = 1 : i32}> : (tensor<4xf32>, index) -> f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @view_elements(%x: tensor<4xf32>) {
  // expected-error@+1 {{tensor.view: [4] and [5] have different numbers of elements}}
  %y = tensor.view %x : tensor<4xf32> to tensor<5xf32>
  func.return
}

// -----

func.func @view_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{tensor.view: turns f32 into i32}}
  %y = tensor.view %x : tensor<4xf32> to tensor<2x2xi32>
  func.return
}

// -----

func.func @scan_states(%x: tensor<4xf32>) {
  // expected-error@+1 {{tensor.scan: has 2 states of 1 operands and 2 results, expected no more than of both}}
  %a, %b = "tensor.scan"(%x) <{num_states = 2 : i64}> ({
  ^bb0(%s: tensor<4xf32>):
    "tensor.yield"(%s, %s) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}

// -----

func.func @scan_lengths(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{tensor.scan: axis 0 of what is scanned and stacked has sizes [4, 5], expected one size}}
  tensor.scan 0 (%a = %x : tensor<4xf32>, %b = %y : tensor<5xf32>) -> () {
    tensor.yield
  }
  func.return
}

// -----

func.func @scan_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{tensor.scan: body takes (tensor<4xf32>), expected (tensor<f32>)}}
  %y = "tensor.scan"(%x) <{num_states = 0 : i64}> ({
  ^bb0(%s: tensor<4xf32>):
    "tensor.yield"(%s) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @scan_yields(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{tensor.scan: body yields (tensor<2xf32>), expected (tensor<3xf32>)}}
  %y = tensor.scan 0 (%a = %x : tensor<4x2xf32>) -> (tensor<4x3xf32>) {
    tensor.yield %a : tensor<2xf32>
  }
  func.return
}

// -----

func.func @stack_shape() {
  // expected-error@+1 {{tensor.compute: result is tensor<2x5xf32>, but its axes have [4]}}
  %y = tensor.compute "s" (%i: 4) stack [2] : tensor<2x5xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c, %c : f32, f32
  }
  func.return
}

// -----

func.func @stack_count() {
  // expected-error@+1 {{tensor.compute: body yields f32, expected f32, f32}}
  %y = tensor.compute "s" (%i: 4) stack [2] : tensor<2x4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  }
  func.return
}

// -----

func.func @stack_reduction() {
  // expected-error@+1 {{tensor.compute: only a compute of one result and without `reduce` can stack}}
  %y = tensor.compute "s" (%i: 4) reduce fast add (%j: 3) stack [2] : tensor<2x4xf32> {
    %c = arith.constant 1.0 : f32
    tensor.yield %c, %c : f32, f32
  }
  func.return
}
