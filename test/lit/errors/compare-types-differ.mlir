// RUN: nn-opt --verify-diagnostics %s

func.func @f(%x: f32, %y: f64) {
  // expected-error@+1 {{arith.cmpf: compares f32 with f64, expected equal types}}
  %z = "arith.cmpf"(%x, %y) <{predicate = 1 : i64}> : (f32, f64) -> i1
  func.return
}
