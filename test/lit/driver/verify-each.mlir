// What a pass leaves is verified, unless that is turned off.
// RUN: not nn-opt --load=%S/Inputs/breaks.py --breaks %s 2>&1 | filecheck %s
// RUN: not nn-opt --load=%S/Inputs/breaks.py --verify-each --breaks %s 2>&1 | filecheck %s
// RUN: nn-opt --load=%S/Inputs/breaks.py --no-verify-each --breaks %s | filecheck %s --check-prefix=OFF

// CHECK: verify-each.mlir:10:8: error: graph.transpose: perm [0, 0] is no permutation of 0..1
// CHECK: note: this is what --breaks left
// OFF:   graph.transpose %x perm [0, 0]
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = graph.relu %x : tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
