// Locations in all of MLIR's forms are read, and printed as they are read again.
// RUN: nn-opt --print-locations %s -o %t.mlir && filecheck %s < %t.mlir
// RUN: nn-opt --print-locations %t.mlir | diff %t.mlir -
// RUN: nn-opt --print-locations --print-op-generic %s | nn-opt --print-locations | diff %t.mlir -
// What is merged, moved or outlined has the locations of all its parts.
// RUN: nn-opt --cse --fuse-ops --outline-kernels --print-locations %s | filecheck %s --check-prefix=FUSED
// Text for LLVM tells of them if that is asked for.
// RUN: nn-opt --compile --emit=llvm-ir %s | filecheck %s --check-prefix=PLAIN
// RUN: nn-opt --compile --emit=llvm-ir --debug-info %s | filecheck %s --check-prefix=DEBUG

// CHECK:      func.func @main(%x: tensor<8xf32> loc("input"("net.onnx":0:0)), %v: tensor<8xf32> loc("{{.*}}locations.mlir":12:1))
func.func @main(%x: tensor<8xf32> loc("input"("net.onnx":0:0)), %v: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: graph.relu %x : tensor<8xf32> loc("first"("net.onnx":1:1))
  %a = graph.relu %x : tensor<8xf32> loc(#node)
  // CHECK-NEXT: graph.relu %x : tensor<8xf32> loc("second"("net.onnx":2:1))
  %b = graph.relu %x : tensor<8xf32> loc("second"("net.onnx":2:1))
  // CHECK-NEXT: graph.neg %v : tensor<8xf32> loc(callsite("callee"("f.py":1:2) at "f.py":3:4))
  %c = graph.neg %v : tensor<8xf32> loc(callsite("callee"("f.py":1:2) at "f.py":3:4))
  // CHECK-NEXT: graph.add {{.*}} loc(fused<"why">["third"("net.onnx":3:1), "f.py":5:6])
  %d = graph.add %a, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> loc(fused<"why">["third"(#line), "f.py":5:6])
  // CHECK-NEXT: graph.add {{.*}} loc("f.py":7:8)
  %e = graph.add %d, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> loc("f.py":7:8 to 9:10)
  // CHECK-NEXT: func.return {{.*}} loc(unknown)
  func.return %e : tensor<8xf32> loc(unknown)
// CHECK-NEXT: } loc("{{.*}}locations.mlir":12:1)
}
#node = loc("first"("net.onnx":1:1))
#line = loc("net.onnx":3:1)

// FUSED:      func.call @relu_neg_add_add_0
// FUSED-SAME:   nn.nodes = ["first", "second", "callee", "third"]
// FUSED:      func.func private @relu_neg_add_add_0
// FUSED:        graph.relu {{.*}} loc(fused["first"("net.onnx":1:1), "second"("net.onnx":2:1)])
// FUSED:      } loc(fused["first"("net.onnx":1:1), "second"("net.onnx":2:1), callsite(

// PLAIN-NOT:  !dbg

// DEBUG:      define internal void @relu_neg_add_add_0({{.*}}) nounwind !dbg ![[KERNEL:[0-9]+]] {
// DEBUG:        fadd <8 x float> {{.*}}, !dbg ![[ADD:[0-9]+]]
// DEBUG-DAG:  ![[UNIT:[0-9]+]] = distinct !DICompileUnit(language: DW_LANG_C
// DEBUG-DAG:  ![[FILE:[0-9]+]] = !DIFile(filename: "net.onnx"
// DEBUG-DAG:  ![[KERNEL]] = distinct !DISubprogram(name: "relu_neg_add_add_0", {{.*}} line: 1, {{.*}} unit: ![[UNIT]])
// DEBUG-DAG:  ![[NODE:[0-9]+]] = distinct !DISubprogram(name: "third", scope: ![[FILE]], file: ![[FILE]], line: 3
// DEBUG-DAG:  ![[CALL:[0-9]+]] = distinct !DILocation(line: 3, column: 1, scope: ![[KERNEL]])
// DEBUG-DAG:  ![[ADD]] = !DILocation(line: 3, column: 1, scope: ![[NODE]], inlinedAt: ![[CALL]])
