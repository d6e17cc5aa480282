// RUN: not nn-opt --check --cse %s 2>&1 | filecheck %s

// CHECK:      error: loop.view: starts at 4, and ends beyond the 4 elements
func.func @main(%x: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 4 {
    %v = loop.view %x offset 2 * %i : memref<4xf32> to memref<2xf32>
    %w = loop.load %v[0] : memref<2xf32>
    loop.store %w, %x[0] : memref<4xf32>
  }
  func.return
}
