// The remainder of floats of 32 bits is exact where there are no doubles, too: a function of the
// language, or of the text.
// RUN: nn-opt --target metal --fuse-ops --lower-to-loops --lower-to-gpu --emit=metal %s | filecheck %s --check-prefix=METAL
// RUN: nn-opt --target webgpu --fuse-ops --lower-to-loops --lower-to-gpu --emit=wgsl %s | filecheck %s --check-prefix=WGSL
// RUN: nn-opt --target cuda --fuse-ops --lower-to-loops --lower-to-gpu %s | filecheck %s --check-prefix=IR
// RUN: nn-opt --target cuda --fuse-ops --lower-to-loops --lower-to-gpu --emit=ptx %s | filecheck %s --check-prefix=PTX

// METAL-NOT: double
// METAL:     = fmod(
// WGSL:      fn remainder_f32(x: f32, y: f32) -> f32 {
// WGSL:      = remainder_f32(
// IR:        arith.remf %{{.*}}, %{{.*}} : f32
// PTX:       div.rn.f64

func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %r = graph.mod %x, %y fmod : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}
