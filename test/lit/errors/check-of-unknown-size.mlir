// RUN: not nn-opt --check --cse %s 2>&1 | filecheck %s

// CHECK:      error: func.func: an input has the type tensor<?xf32>, so --check cannot make one up
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.relu %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}
