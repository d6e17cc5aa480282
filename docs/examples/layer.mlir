func.func @main(%x: tensor<96x256xf32>, %w: tensor<256x512xf32>) -> tensor<96x512xf32> {
  %y = func.call @layer(%x, %w) : (tensor<96x256xf32>, tensor<256x512xf32>) -> tensor<96x512xf32>
  func.return %y : tensor<96x512xf32>
}

func.func private @layer(%x: tensor<96x256xf32>, %w: tensor<256x512xf32>) -> tensor<96x512xf32> attributes {kernel} {
  %a = graph.matmul %x, %w : (tensor<96x256xf32>, tensor<256x512xf32>) -> tensor<96x512xf32>
  %b = graph.relu %a : tensor<96x512xf32>
  func.return %b : tensor<96x512xf32>
}

sched.script for @layer {
  %i, %j, %k = sched.axes 3 of "matmul"
  %io, %jo, %ii, %ji = sched.tile %i, %j by 6, 32
  sched.reorder %io, %jo, %k, %ii, %ji
  %jio, %jii = sched.split %ji by 16
  sched.unroll %ii
  sched.unroll %jio
  sched.vectorize %jii
  sched.decompose_init "matmul" at %k
  sched.reverse_compute_at "relu" at %jo
  %ro, %rp, %ri, %rj = sched.axes 4 of "relu"
  %rjo, %rji = sched.split %rj by 16
  sched.unroll %ri
  sched.unroll %rjo
  sched.vectorize %rji
  sched.set_scope "matmul" in "register"
}
