// A model that is above the loop level, or whose ops were not fused, has no kernels: an error says
// what to run, and no text is printed.
// RUN: not nn-opt --target opencl --lower-to-gpu --emit=opencl %s 2>&1 | filecheck %s --check-prefix=GRAPH
// RUN: not nn-opt --target opencl --lower-to-gpu --emit=ptx %s 2>&1 | filecheck %s --check-prefix=GRAPH
// RUN: not nn-opt --target opencl --convert-graph-to-tensor --lower-to-gpu --emit=opencl %s 2>&1 | filecheck %s --check-prefix=TENSOR
// RUN: not nn-opt --target opencl --lower-to-loops --lower-to-gpu --emit=opencl %s 2>&1 | filecheck %s --check-prefix=UNFUSED
// RUN: nn-opt --target opencl --fuse-ops --lower-to-loops --lower-to-gpu --emit=opencl %s | filecheck %s --check-prefix=FUSED

// GRAPH-NOT: OPENCL
// GRAPH: levels.mlir:[[# @LINE + 12]]:8: error: graph.relu: is of the graph level, which has no kernels yet
// GRAPH: hint: run --optimize-graph and --lower-to-loops first

// TENSOR: error: tensor.compute: is of the tensor level, which has no kernels yet
// TENSOR: hint: run --convert-tensor-to-loop, --default-schedules and --apply-schedule first

// UNFUSED: error: loop.for: no loop of this nest of @main is bound to blocks or threads
// UNFUSED: hint: run --optimize-graph or --fuse-ops before --lower-to-loops, bind loops in a script,

// FUSED: relu_0(__global const float *restrict

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = graph.relu %x : tensor<8xf32>
  func.return %y : tensor<8xf32>
}
