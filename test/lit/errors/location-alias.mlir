// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @f() {
  // expected-error@+1 {{no location is called #nowhere}}
  func.return loc(#nowhere)
}

// -----

#number = 7 : i32
func.func @g() {
  // expected-error@+1 {{#number is no location}}
  func.return loc(#number)
}

// -----

func.func @h() {
  func.return loc(#first)
}
#first = loc("a"(#second))
// expected-error@+1 {{the location #first is defined by itself}}
#second = loc("b"(#first))
