// RUN: nn-opt --alternate-scans --split-input-file %s | filecheck %s

// Half of the second cache is 512 KiB; a step reads 576. Five steps are two times two, and one.
// CHECK-LABEL: func.func @main
// CHECK:      loop.for %t = 0 to 2 {
// CHECK-NEXT:   %[[X0:.*]] = loop.view %x offset 768 * %t : memref<5x384xf32> to memref<384xf32>
// CHECK-NEXT:   %[[N0:.*]] = loop.alloc "next"
// CHECK-NEXT:   func.call @step(%h, %[[W:.*]], %[[X0]], %[[N0]]) {nn.number = 0 : i64}
// CHECK-NEXT:   func.call @show(%[[N0]]) {nn.number = 1 : i64}
// CHECK-NEXT:   %[[X1:.*]] = loop.view %x offset 768 * %t + 384 : memref<5x384xf32> to memref<384xf32>
// CHECK-NEXT:   %[[N1:.*]] = loop.alloc "next"
// CHECK-NEXT:   func.call @step_back(%[[N0]], %[[W]], %[[X1]], %[[N1]]) {nn.number = 0 : i64}
// CHECK-NEXT:   func.call @show(%[[N1]]) {nn.number = 1 : i64}
// CHECK-NEXT:   loop.copy %[[N1]] to %h
// CHECK-NEXT: }
// CHECK-NEXT: %[[X4:.*]] = loop.view %x offset 1536 : memref<5x384xf32> to memref<384xf32>
// CHECK-NEXT: %[[N4:.*]] = loop.alloc "next"
// CHECK-NEXT: func.call @step(%h, %[[W]], %[[X4]], %[[N4]]) {nn.number = 0 : i64}
// CHECK-NEXT: func.call @show(%[[N4]]) {nn.number = 1 : i64}
// CHECK-NEXT: loop.copy %[[N4]] to %h
// CHECK-NEXT: func.return
func.func @main(%x: memref<5x384xf32>, %h: memref<384xf32>) attributes {num_outputs = 1 : i64} {
  %w = loop.constant dense<0.5> : tensor<f32> to memref<384x384xf32>
  loop.for %t = 0 to 5 {
    %row = loop.view %x offset 384 * %t : memref<5x384xf32> to memref<384xf32>
    %next = loop.alloc "next" : memref<384xf32>
    func.call @step(%h, %w, %row, %next) : (memref<384xf32>, memref<384x384xf32>, memref<384xf32>, memref<384xf32>) -> ()
    func.call @show(%next) : (memref<384xf32>) -> ()
    loop.copy %next to %h : memref<384xf32> to memref<384xf32>
  }
  func.return
}

// CHECK-LABEL: func.func private @step(
// CHECK:      loop.for %{{.*}} = 0 to 384 {
// CHECK-LABEL: func.func private @step_back(
// CHECK:      loop.for %{{.*}} = 0 to 1 {
// CHECK-NEXT:   loop.for %{{.*}} = 0 to 384 attributes {backwards} {
// CHECK-NEXT:     loop.for %{{.*}} = 0 to 384 {
func.func private @step(%h: memref<384xf32>, %w: memref<384x384xf32>, %x: memref<384xf32>, %y: memref<384xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %m = 0 to 1 {
    loop.for %n = 0 to 384 {
      loop.for %k = 0 to 384 {
        loop.block "sum" (%j = %n : par 384, %i = %k : reduce 384) {
          %a = loop.load %h[%i] : memref<384xf32>
          %b = loop.load %w[%i, %j] : memref<384x384xf32>
          %s = loop.load %y[%j] : memref<384xf32>
          %r = math.fma %a, %b, %s : f32
          loop.store %r, %y[%j] : memref<384xf32>
        } init {
          %v = loop.load %x[%j] : memref<384xf32>
          loop.store %v, %y[%j] : memref<384xf32>
        }
      }
    }
  }
  func.return
}
func.func private @show(memref<384xf32>)

// -----

// Weights that stay in cache anyway.
// CHECK-LABEL: func.func @main
// CHECK:       loop.for %t = 0 to 6 {
// CHECK-NOT:   step_back
func.func @main(%h: memref<64xf32>) {
  %w = loop.constant dense<0.5> : tensor<f32> to memref<64x64xf32>
  loop.for %t = 0 to 6 {
    func.call @step(%h, %w) : (memref<64xf32>, memref<64x64xf32>) -> ()
  }
  func.return
}
func.func private @step(memref<64xf32>, memref<64x64xf32>)

// -----

// What goes through its iterations in order has no way back; its steps run in pairs all the same.
// CHECK-LABEL: func.func @main
// CHECK:       loop.for %t = 0 to 3 {
// CHECK-NEXT:    func.call @step(%h, %{{.*}})
// CHECK-NEXT:    func.call @step(%h, %{{.*}})
// CHECK-NOT:   backwards
func.func @main(%h: memref<384xf32>) {
  %w = loop.constant dense<0.5> : tensor<f32> to memref<384x384xf32>
  loop.for %t = 0 to 6 {
    func.call @step(%h, %w) : (memref<384xf32>, memref<384x384xf32>) -> ()
  }
  func.return
}
func.func private @step(%h: memref<384xf32>, %w: memref<384x384xf32>) attributes {kernel} {
  loop.for %k = 0 to 383 {
    loop.block "running" (%i = %k : seq 383) {
      %a = loop.load %h[%i] : memref<384xf32>
      loop.store %a, %h[%i + 1] : memref<384xf32>
    }
  }
  func.return
}
