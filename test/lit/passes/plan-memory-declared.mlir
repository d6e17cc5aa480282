// RUN: nn-opt --plan-memory %s | filecheck %s

// The body of @work is elsewhere: it must be given 8192 bytes, and %y may overwrite %x.
func.func private @work(memref<1024xf32>, memref<1024xf32>) attributes {kernel, num_outputs = 1 : i64, nn.temporaries = [{name = "rows", type = memref<2048xf32>}], nn.in_place = array<i64: 0, 1>}
func.func @main(%x: memref<1024xf32>, %y: memref<1024xf32>) attributes {num_outputs = 1 : i64} {
  %a = loop.alloc "a" : memref<1024xf32>
  %b = loop.alloc "b" : memref<1024xf32>
  func.call @work(%x, %a) : (memref<1024xf32>, memref<1024xf32>) -> ()
  func.call @work(%a, %b) : (memref<1024xf32>, memref<1024xf32>) -> ()
  func.call @work(%b, %y) : (memref<1024xf32>, memref<1024xf32>) -> ()
  func.return
}

// CHECK:      func.func private @work
// CHECK-SAME:   nn.aliases = array<i64: 0, 1>
// CHECK:      loop.arena
// CHECK:      func.call @work(%x, %{{.*}}, %{{.*}}) : (memref<1024xf32>, memref<1024xf32>, memref<2048xf32>) -> ()
// CHECK-NOT:  loop.alloc
