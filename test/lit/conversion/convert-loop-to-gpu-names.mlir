// Arguments of kernels are called as the inputs and weights of the model, temporaries as the
// kernel that wrote them; where launches differ, by what they are.
// RUN: nn-opt --target opencl --fuse-ops --lower-to-loops --lower-to-gpu %s | filecheck %s
// RUN: nn-opt --target opencl --fuse-ops --lower-to-loops --lower-to-gpu --emit=opencl %s | filecheck %s --check-prefix=TEXT

// CHECK: gpu.func @matmul_sub_0(%image0: memref<128x128xf32>, %fc_0_weight: memref<128x128xf32>, %x1: memref<128x128xf32>, %out: memref<128x128xf32>)
// CHECK: gpu.func @softmax_0(%matmul_sub: memref<128x128xf32>, %out: memref<128x128xf32>)
// TEXT:      matmul_sub_0(
// TEXT-NEXT:     __global const float *restrict image0,
// TEXT-NEXT:     __global const float *restrict fc_0_weight,
// TEXT-NEXT:     __global const float *restrict x1,
// TEXT-NEXT:     __global float *restrict out) {

func.func @main(%0: tensor<128x128xf32>, %1: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {arg_names = ["image:0", "1"]} {
  %5 = graph.constant dense<2.0> : tensor<128x128xf32> loc("fc.0.weight"("m.onnx":0:0))
  %2 = graph.matmul %0, %5 : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %3 = graph.sub %2, %1 : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = graph.softmax %3 axis 1 : (tensor<128x128xf32>) -> tensor<128x128xf32>
  func.return %4 : tensor<128x128xf32>
}
