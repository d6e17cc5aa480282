// RUN: nn-opt --target=opencl --split-input-file --fuse-ops --outline-kernels --convert-graph-to-tensor --convert-tensor-to-loop --default-schedules %s | filecheck %s

// Four elements a thread, in blocks of 64: there are few.
// CHECK:      sched.script for @relu_0 {
// CHECK-NEXT:   %i, %j = sched.axes 2 of "relu"
// CHECK-NEXT:   %i_j = sched.join %i, %j
// CHECK-NEXT:   %i_j_1 = sched.axes 1 of "relu"
// CHECK-NEXT:   %i_j_2 = sched.axes 1 of "relu"
// CHECK-NEXT:   %i_jo, %i_ji = sched.split %i_j_2 by 4
// CHECK-NEXT:   %i_joo, %i_joi = sched.split %i_jo by 64
// CHECK-NEXT:   sched.bind %i_joi to "thread_x"
// CHECK-NEXT:   sched.bind %i_joo to "block_x"
// CHECK-NEXT:   sched.vectorize %i_ji
// CHECK-NEXT: }
func.func @main(%x: tensor<40x128xf32>) -> tensor<40x128xf32> {
  %y = graph.relu %x : tensor<40x128xf32>
  func.return %y : tensor<40x128xf32>
}

// -----

// 32 threads a row; each keeps what it makes of its elements, and adds up its part.
// CHECK:      sched.script for @softmax_0 {
// CHECK-NEXT:   sched.inline "softmax.share"
// CHECK-NEXT:   %i, %j = sched.axes 2 of "softmax"
// CHECK-NEXT:   sched.reorder %i, %j
// CHECK-NEXT:   sched.bind %i to "block_x"
// CHECK-NEXT:   sched.compute_at "softmax.sum" at %i
// CHECK-NEXT:   sched.compute_at "softmax.exp" at %i
// CHECK-NEXT:   sched.compute_at "softmax.max" at %i
// CHECK-NEXT:   %i_1, %j_1 = sched.axes 2 of "softmax.max"
// CHECK-NEXT:   %jo, %ji = sched.split %j_1 by 32
// CHECK-NEXT:   sched.reorder %ji, %jo
// CHECK-NEXT:   sched.bind %ji to "thread_x"
// CHECK-NEXT:   sched.unroll %jo
// CHECK-NEXT:   %i_2, %j_2 = sched.axes 2 of "softmax.exp"
// CHECK-NEXT:   %jo_1, %ji_1 = sched.split %j_2 by 32
// CHECK-NEXT:   sched.reorder %ji_1, %jo_1
// CHECK-NEXT:   sched.bind %ji_1 to "thread_x"
// CHECK-NEXT:   sched.unroll %jo_1
// CHECK-NEXT:   %i_3, %j_3 = sched.axes 2 of "softmax.sum"
// CHECK-NEXT:   %jo_2, %ji_2 = sched.split %j_3 by 32
// CHECK-NEXT:   sched.reorder %ji_2, %jo_2
// CHECK-NEXT:   sched.bind %ji_2 to "thread_x"
// CHECK-NEXT:   sched.unroll %jo_2
// CHECK-NEXT:   %i_4, %j_4 = sched.axes 2 of "softmax"
// CHECK-NEXT:   %jo_3, %ji_3 = sched.split %j_4 by 32
// CHECK-NEXT:   sched.reorder %ji_3, %jo_3
// CHECK-NEXT:   sched.bind %ji_3 to "thread_x"
// CHECK-NEXT:   sched.unroll %jo_3
// CHECK-NEXT:   sched.set_scope "softmax.max" in "shared"
// CHECK-NEXT:   sched.set_scope "softmax.exp" in "stack"
// CHECK-NEXT:   sched.set_scope "softmax.sum" in "shared"
// CHECK-NEXT: }
func.func @main(%x: tensor<6x100xf32>) -> tensor<6x100xf32> {
  %y = graph.softmax %x axis 1 : tensor<6x100xf32>
  func.return %y : tensor<6x100xf32>
}

// -----

// A row for each thread, where rows are short.
// CHECK:      sched.script for @softmax_0 {
// CHECK-NEXT:   sched.inline "softmax.exp"
// CHECK-NEXT:   %i, %j = sched.axes 2 of "softmax"
// CHECK-NEXT:   sched.reorder %i, %j
// CHECK-NEXT:   %io, %ii = sched.split %i by 64
// CHECK-NEXT:   sched.bind %ii to "thread_x"
// CHECK-NEXT:   sched.bind %io to "block_x"
// CHECK-NEXT:   sched.compute_at "softmax.share" at %ii
// CHECK-NEXT:   sched.compute_at "softmax.sum" at %ii
// CHECK-NEXT:   sched.compute_at "softmax.max" at %ii
// CHECK-NEXT:   %io_1, %ii_1, %j_1 = sched.axes 3 of "softmax.max"
// CHECK-NEXT:   sched.decompose_init "softmax.max" at %j_1
// CHECK-NEXT:   %io_2, %ii_2, %j_2 = sched.axes 3 of "softmax.sum"
// CHECK-NEXT:   sched.decompose_init "softmax.sum" at %j_2
// CHECK-NEXT:   sched.set_scope "softmax.max" in "register"
// CHECK-NEXT:   sched.set_scope "softmax.sum" in "register"
// CHECK-NEXT:   sched.set_scope "softmax.share" in "register"
// CHECK-NEXT: }
func.func @main(%x: tensor<300x10xf32>) -> tensor<300x10xf32> {
  %y = graph.softmax %x axis 1 : tensor<300x10xf32>
  func.return %y : tensor<300x10xf32>
}

// -----

// Few long sums: parts in many blocks, then a second kernel.
// CHECK:      sched.script for @reduce_0 {
// CHECK-NEXT:   %i, %j = sched.axes 2 of "max"
// CHECK-NEXT:   sched.reorder %i, %j
// CHECK-NEXT:   %jo, %ji = sched.split %j by 4000
// CHECK-NEXT:   sched.rfactor "max" at %jo
// CHECK-NEXT:   %i_1, %jo_1, %ji_1 = sched.axes 3 of "max.parts"
// CHECK-NEXT:   sched.fission %i_1
// CHECK-NEXT:   %i_2, %jo_2, %ji_2 = sched.axes 3 of "max.parts"
// CHECK-NEXT:   %i_jo = sched.fuse %i_2, %jo_2
// CHECK-NEXT:   sched.bind %i_jo to "block_x"
// CHECK-NEXT:   %i_3, %part = sched.axes 2 of "max"
// CHECK-NEXT:   sched.bind %i_3 to "block_x"
// CHECK-NEXT:   %i_jo_1, %ji_3 = sched.axes 2 of "max.parts"
// CHECK-NEXT:   %jio, %jii = sched.split %ji_3 by 256
// CHECK-NEXT:   sched.reorder %jii, %jio
// CHECK-NEXT:   sched.bind %jii to "thread_x"
// CHECK-NEXT:   %parto, %parti = sched.split %part by 256
// CHECK-NEXT:   sched.reorder %parti, %parto
// CHECK-NEXT:   sched.bind %parti to "thread_x"
// CHECK-NEXT: }
func.func @main(%x: tensor<3x40000xf32>) -> tensor<3xf32> {
  %y = graph.reduce %x kind "max" axes [1] : (tensor<3x40000xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// Tiles of 32 x 32 in shared memory, whose rows are a number longer.
// CHECK:      sched.script for @transpose_0 {
// CHECK-NEXT:   %i, %j, %k = sched.axes 3 of "transpose"
// CHECK-NEXT:   sched.reindex "transpose" operand 0 by [0, 2, 1]
// CHECK-NEXT:   %jo, %ji = sched.split %j by 32
// CHECK-NEXT:   %ko, %ki = sched.split %k by 32
// CHECK-NEXT:   sched.reorder %i, %jo, %ko, %ji, %ki
// CHECK-NEXT:   %i_jo = sched.fuse %i, %jo
// CHECK-NEXT:   %i_jo_ko = sched.fuse %i_jo, %ko
// CHECK-NEXT:   sched.bind %i_jo_ko to "block_x"
// CHECK-NEXT:   sched.compute_at "transpose.in0" at %i_jo_ko
// CHECK-NEXT:   %jio, %jii = sched.split %ji by 8
// CHECK-NEXT:   sched.reorder %jii, %ki, %jio
// CHECK-NEXT:   sched.bind %jii to "thread_y"
// CHECK-NEXT:   sched.bind %ki to "thread_x"
// CHECK-NEXT:   sched.unroll %jio
// CHECK-NEXT:   %i_jo_ko_1, %k_1, %j_1 = sched.axes 3 of "transpose.in0"
// CHECK-NEXT:   %ko_1, %ki_1 = sched.split %k_1 by 8
// CHECK-NEXT:   sched.reorder %ki_1, %j_1, %ko_1
// CHECK-NEXT:   sched.bind %ki_1 to "thread_y"
// CHECK-NEXT:   sched.bind %j_1 to "thread_x"
// CHECK-NEXT:   sched.unroll %ko_1
// CHECK-NEXT:   sched.set_scope "transpose.in0" in "shared"
// CHECK-NEXT:   sched.storage_align "transpose.in0" to 32 offset 1
// CHECK-NEXT: }
func.func @main(%x: tensor<2x40x37xf32>) -> tensor<2x37x40xf32> {
  %y = graph.transpose %x perm [0, 2, 1] : (tensor<2x40x37xf32>) -> tensor<2x37x40xf32>
  func.return %y : tensor<2x37x40xf32>
}

// -----

// A row by weights in blocks: threads side by side take columns, and rows of threads parts of sums.
// CHECK:      sched.script for @block_matmul_0 {
// CHECK-NEXT:   sched.cache_write "block_matmul"
// CHECK-NEXT:   %m, %n, %kb, %k, %part = sched.axes 5 of "block_matmul"
// CHECK-NEXT:   sched.reorder %m, %n, %kb, %k, %part
// CHECK-NEXT:   %kb_k = sched.fuse %kb, %k
// CHECK-NEXT:   %kb_k_part = sched.fuse %kb_k, %part
// CHECK-NEXT:   %no, %ni = sched.split %n by 32
// CHECK-NEXT:   %kb_k_parto, %kb_k_parti = sched.split %kb_k_part by 8
// CHECK-NEXT:   sched.reorder %m, %no, %ni, %kb_k_parti, %kb_k_parto
// CHECK-NEXT:   %m_no = sched.fuse %m, %no
// CHECK-NEXT:   sched.bind %m_no to "block_x"
// CHECK-NEXT:   sched.bind %ni to "thread_x"
// CHECK-NEXT:   sched.bind %kb_k_parti to "thread_y"
// CHECK-NEXT:   sched.reverse_compute_at "block_matmul.copy" at %m_no
func.func @main(%a: tensor<1x512xf32>, %w: tensor<256x100xui8>, %s: tensor<16x100xf32>) -> tensor<1x100xf32> {
  %y = graph.block_matmul %a, %w, %s block 32 bits 4 : (tensor<1x512xf32>, tensor<256x100xui8>, tensor<16x100xf32>) -> tensor<1x100xf32>
  func.return %y : tensor<1x100xf32>
}

// -----

// Few columns: a block takes one, and its threads share the loops over blocks, bytes and parts.
// CHECK:      sched.script for @block_matmul_0 {
// CHECK:        %kb_k_part = sched.fuse %kb_k, %part
// CHECK-NEXT:   %kb_k_parto, %kb_k_parti = sched.split %kb_k_part by 32
// CHECK-NEXT:   sched.reorder %kb_k_parti, %kb_k_parto
// CHECK-NEXT:   sched.bind %kb_k_parti to "thread_x"
func.func @main(%a: tensor<1x64xf32>, %w: tensor<32x6xui8>, %s: tensor<4x6xf32>) -> tensor<1x6xf32> {
  %y = graph.block_matmul %a, %w, %s block 16 bits 4 : (tensor<1x64xf32>, tensor<32x6xui8>, tensor<4x6xf32>) -> tensor<1x6xf32>
  func.return %y : tensor<1x6xf32>
}
