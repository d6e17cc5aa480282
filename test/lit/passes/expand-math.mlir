// RUN: nn-opt --expand-math %s | filecheck %s

// CHECK-LABEL: @vectors_become_polynomials
func.func @vectors_become_polynomials(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: math.exp
  // CHECK:     math.fma {{.*}} : vector<8xf32>
  // CHECK:     loop.ldexp {{.*}} : vector<8xf32>, vector<8xi32>
  // CHECK:     func.return
  %y = math.exp %x : vector<8xf32>
  func.return %y : vector<8xf32>
}

// CHECK-LABEL: @scalars_too
func.func @scalars_too(%x: f32) -> f32 {
  // CHECK-NOT: math.tanh
  // CHECK:     math.copysign
  // CHECK:     func.return
  %y = math.tanh %x : f32
  func.return %y : f32
}

// CHECK-LABEL: @angles_are_reduced_in_doubles
func.func @angles_are_reduced_in_doubles(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: math.sin
  // CHECK:     arith.extf %x : vector<8xf32> to vector<8xf64>
  // CHECK:     math.roundeven {{.*}} : vector<8xf64>
  // CHECK:     func.return
  %y = math.sin %x : vector<8xf32>
  func.return %y : vector<8xf32>
}

// CHECK-LABEL: @halves_are_computed_in_singles
func.func @halves_are_computed_in_singles(%x: vector<8xf16>) -> vector<8xf16> {
  // CHECK-NEXT: arith.extf %x : vector<8xf16> to vector<8xf32>
  // CHECK:      arith.truncf {{.*}} : vector<8xf32> to vector<8xf16>
  // CHECK-NEXT: func.return
  %y = math.exp %x : vector<8xf16>
  func.return %y : vector<8xf16>
}

// CHECK-LABEL: @doubles_and_other_functions_stay
func.func @doubles_and_other_functions_stay(%x: f64, %y: f32) -> (f64, f32) {
  // CHECK-NEXT: math.exp %x : f64
  // CHECK-NEXT: math.cbrt %y : f32
  %a = math.exp %x : f64
  %b = math.cbrt %y : f32
  func.return %a, %b : f64, f32
}
