// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @f(%acc: vector<4xi32>, %a: vector<4xi8>) {
  // expected-error@+1 {{loop.dot: b is vector<4xi8>, expected vector<16xi8>}}
  %r = "loop.dot"(%acc, %a, %a) : (vector<4xi32>, vector<4xi8>, vector<4xi8>) -> vector<4xi32>
  func.return
}

// -----

func.func @f(%acc: vector<4xi32>, %a: i8, %b: vector<16xi8>) {
  %r = loop.dot %acc, %a, %b : vector<4xi32>, i8
  // expected-error@+1 {{loop.dot takes acc, a, b : the vector types of acc and a}}
  func.return
}
