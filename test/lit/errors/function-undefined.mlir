// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{'@g' could not be found in symbol table}}
  %b = func.call @g(%a) : (i32) -> i32
  func.return %b : i32
}
