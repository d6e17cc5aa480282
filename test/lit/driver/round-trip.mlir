// RUN: nn-opt %s | nn-opt | filecheck %s
// RUN: nn-opt --print-op-generic %s | nn-opt | filecheck %s
// RUN: nn-opt %s -o %t.mlir && filecheck %s < %t.mlir

// CHECK-LABEL: @floats
func.func @floats() -> f32 {
  // CHECK: 0x7fc00000 : f32
  %nan = arith.constant 0x7FC00000 : f32
  // CHECK: 0xff800000 : f32
  %least = arith.constant 0xFF800000 : f32
  // CHECK: -0.000000e+00 : f32
  %zero = arith.constant -0.0 : f32
  // CHECK: dense<[0x7fc00000, 1.500000e+00]> : tensor<2xf32>
  %mixed = arith.constant dense<[0x7FC00000, 1.5]> : tensor<2xf32>
  func.return %zero : f32
}

// CHECK-LABEL: @text
// CHECK-SAME: "gr\C3\B6\C3\9Fe"
func.func @text() attributes {note = "größe"} {
  func.return
}
