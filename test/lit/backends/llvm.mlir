// RUN: nn-compile %s --target=x86-64-v4 -o %t.ll && filecheck %s < %t.ll

// What a model's kernel and entry look like as LLVM assembly.
// CHECK-LABEL: define internal void @relu_0{{.*}}(ptr noalias %{{.*}}, ptr noalias %{{.*}}) nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" {
// CHECK:         load <16 x float>, ptr %{{.*}}, align 4
// CHECK:         fcmp ogt <16 x float> splat (float 0x0000000000000000), %{{.*}}
// CHECK:         select <16 x i1>
// CHECK:         ret void
// CHECK-LABEL: define void @nn_main(ptr %{{.*}}, ptr %{{.*}}, ptr %{{.*}}, ptr %{{.*}}) nounwind
// CHECK:         call void @relu_0{{.*}}(ptr %{{.*}}, ptr %{{.*}})
// CHECK:       !{!"llvm.loop.unroll.disable"}
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = graph.relu %x : tensor<8x16xf32>
  func.return %y : tensor<8x16xf32>
}
