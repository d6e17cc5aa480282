// RUN: nn-opt --canonicalize %s | filecheck %s

// CHECK-LABEL: @integers_fold
func.func @integers_fold() -> i32 {
  // CHECK:      %[[FIVE:.*]] = arith.constant 5 : i32
  // CHECK-NEXT: func.return %[[FIVE]]
  %a = arith.constant 2 : i32
  %b = arith.constant 3 : i32
  %c = arith.addi %a, %b : i32
  func.return %c : i32
}

// CHECK-LABEL: @one_is_neutral
func.func @one_is_neutral(%x: f32) -> f32 {
  // CHECK-NOT: arith.mulf
  // CHECK:     func.return %x
  %one = arith.constant 1.0 : f32
  %a = arith.mulf %x, %one : f32
  func.return %a : f32
}

// NaN, infinity and -0.0 make these no identities.
// CHECK-LABEL: @float_zero_rules_are_none
func.func @float_zero_rules_are_none(%x: f32) -> (f32, f32, f32) {
  // CHECK: arith.mulf
  // CHECK: arith.subf
  // CHECK: arith.addf
  %zero = arith.constant 0.0 : f32
  %a = arith.mulf %x, %zero : f32
  %b = arith.subf %x, %x : f32
  %c = arith.addf %x, %zero : f32
  func.return %a, %b, %c : f32, f32, f32
}

// CHECK-LABEL: @unread_values_go
func.func @unread_values_go(%x: f32) -> f32 {
  // CHECK-NEXT: func.return
  %a = arith.addf %x, %x : f32
  func.return %x : f32
}

// CHECK-LABEL: @negative_zero_is_neutral_to_addition
func.func @negative_zero_is_neutral_to_addition(%x: f32) -> (f32, f32) {
  // CHECK-NEXT: func.return %x, %x
  %n = arith.constant -0.0 : f32
  %z = arith.constant 0.0 : f32
  %a = arith.addf %x, %n : f32
  %b = arith.subf %x, %z : f32
  func.return %a, %b : f32, f32
}
