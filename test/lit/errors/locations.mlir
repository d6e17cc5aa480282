// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @f() {
  // expected-error@+1 {{no location is called #foo}}
  func.return loc(#foo)
}

// -----

func.func @f() {
  // expected-error@+1 {{'foo' is no kind of location}}
  func.return loc(foo("x"))
}

// -----

func.func @f() {
  func.return loc(#loc1)
}
// expected-error@+1 {{the location #loc1 is defined by itself}}
#loc1 = loc(callsite(#loc1 at #loc1))

// -----

#a = 4 : i32
func.func @f() {
  // expected-error@+1 {{#a is no location}}
  func.return loc(#a)
}
