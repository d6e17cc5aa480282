// RUN: not nn-opt --check --cse %s 2>&1 | filecheck %s

// CHECK:      error: loop.load: reaches [7] in a buffer of [4]
func.func @main(%x: memref<4xf32>) {
  %v = loop.load %x[7] : memref<4xf32>
  loop.store %v, %x[0] : memref<4xf32>
  func.return
}
