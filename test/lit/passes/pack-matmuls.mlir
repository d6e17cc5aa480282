// RUN: nn-opt --pack-matmuls --target=x86-64-v4 --split-input-file %s | filecheck %s

// Three vectors of sixteen lanes a panel, as a tile of eight rows takes them.
// CHECK-LABEL: @whole_panels
// CHECK:       %[[P:.*]] = graph.layout_transform %w from "KN" to "NK48n" sizes [128, 96] : (tensor<128x96xf32>) -> tensor<2x128x48xf32>
// CHECK-NEXT:  graph.matmul %x, %[[P]] weight_layout "NK48n" : (tensor<16x128xf32>, tensor<2x128x48xf32>) -> tensor<16x96xf32>
func.func @whole_panels(%x: tensor<16x128xf32>) -> tensor<16x96xf32> {
  %w = graph.constant dense<1.0> : tensor<128x96xf32>
  %y = graph.matmul %x, %w : (tensor<16x128xf32>, tensor<128x96xf32>) -> tensor<16x96xf32>
  func.return %y : tensor<16x96xf32>
}

// -----

// All rows of a batch share the weights.
// CHECK-LABEL: @rows_of_a_batch
// CHECK:       graph.matmul %x, %{{.*}} weight_layout "NK48n"
func.func @rows_of_a_batch(%x: tensor<2x4x256xf32>) -> tensor<2x4x48xf32> {
  %w = graph.constant dense<1.0> : tensor<256x48xf32>
  %y = graph.matmul %x, %w : (tensor<2x4x256xf32>, tensor<256x48xf32>) -> tensor<2x4x48xf32>
  func.return %y : tensor<2x4x48xf32>
}

// -----

// What is no constant would have to be packed at every call: where many rows share a large matrix.
// CHECK-LABEL: @large_variable
// CHECK:       %[[P:.*]] = graph.layout_transform %w from "KN" to "NK48n"
// CHECK-NEXT:  graph.matmul %x, %[[P]] weight_layout "NK48n" columns 1024
func.func @large_variable(%x: tensor<128x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<128x1024xf32> {
  %y = graph.matmul %x, %w : (tensor<128x1024xf32>, tensor<1024x1024xf32>) -> tensor<128x1024xf32>
  func.return %y : tensor<128x1024xf32>
}

// -----

// CHECK-LABEL: @few_rows_of_a_large_variable
// CHECK-NOT:   layout
func.func @few_rows_of_a_large_variable(%x: tensor<64x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<64x1024xf32> {
  %y = graph.matmul %x, %w : (tensor<64x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  func.return %y : tensor<64x1024xf32>
}

// -----

// One row by transposed matrices is those matrices by one column.
// CHECK-LABEL: @one_row_by_transposes
// CHECK-NOT:   graph.transpose
// CHECK:       %[[A:.*]] = graph.reshape %q : (tensor<2x1x64xf32>) -> tensor<2x64x1xf32>
// CHECK-NEXT:  %[[Y:.*]] = graph.matmul %k, %[[A]] : (tensor<2x9x64xf32>, tensor<2x64x1xf32>) -> tensor<2x9x1xf32>
// CHECK-NEXT:  graph.reshape %[[Y]] : (tensor<2x9x1xf32>) -> tensor<2x1x9xf32>
func.func @one_row_by_transposes(%q: tensor<2x1x64xf32>, %k: tensor<2x9x64xf32>) -> tensor<2x1x9xf32> {
  %t = graph.transpose %k perm [0, 2, 1] : (tensor<2x9x64xf32>) -> tensor<2x64x9xf32>
  %y = graph.matmul %q, %t : (tensor<2x1x64xf32>, tensor<2x64x9xf32>) -> tensor<2x1x9xf32>
  func.return %y : tensor<2x1x9xf32>
}

// -----

// More rows share a transpose; other axes move too; so do another reader's elements.
// CHECK-LABEL: @transposes_stay
// CHECK-COUNT-3: graph.transpose
func.func @transposes_stay(%a: tensor<2x64xf32>, %q: tensor<2x1x64xf32>, %k: tensor<9x64xf32>, %l: tensor<9x2x64xf32>, %m: tensor<2x9x64xf32>) -> (tensor<2x9xf32>, tensor<2x1x9xf32>, tensor<2x1x9xf32>, tensor<2x64x9xf32>) {
  %t = graph.transpose %k perm [1, 0] : (tensor<9x64xf32>) -> tensor<64x9xf32>
  %y = graph.matmul %a, %t : (tensor<2x64xf32>, tensor<64x9xf32>) -> tensor<2x9xf32>
  %u = graph.transpose %l perm [1, 2, 0] : (tensor<9x2x64xf32>) -> tensor<2x64x9xf32>
  %z = graph.matmul %q, %u : (tensor<2x1x64xf32>, tensor<2x64x9xf32>) -> tensor<2x1x9xf32>
  %v = graph.transpose %m perm [0, 2, 1] : (tensor<2x9x64xf32>) -> tensor<2x64x9xf32>
  %x = graph.matmul %q, %v : (tensor<2x1x64xf32>, tensor<2x64x9xf32>) -> tensor<2x1x9xf32>
  func.return %y, %z, %x, %v : tensor<2x9xf32>, tensor<2x1x9xf32>, tensor<2x1x9xf32>, tensor<2x64x9xf32>
}

// -----

// CHECK-LABEL: @variable_stays
// CHECK-NOT:   layout
func.func @variable_stays(%x: tensor<5x128xf32>, %w: tensor<128x96xf32>) -> tensor<5x96xf32> {
  %y = graph.matmul %x, %w : (tensor<5x128xf32>, tensor<128x96xf32>) -> tensor<5x96xf32>
  func.return %y : tensor<5x96xf32>
}

// -----

// The last panel is filled up.
// CHECK-LABEL: @broken_panel
// CHECK:       %[[P:.*]] = graph.layout_transform %w from "KN" to "NK48n" sizes [128, 90] : (tensor<128x90xf32>) -> tensor<2x128x48xf32>
// CHECK-NEXT:  graph.matmul %x, %[[P]] weight_layout "NK48n" columns 90 : (tensor<8x128xf32>, tensor<2x128x48xf32>) -> tensor<8x90xf32>
func.func @broken_panel(%x: tensor<8x128xf32>) -> tensor<8x90xf32> {
  %w = graph.constant dense<1.0> : tensor<128x90xf32>
  %y = graph.matmul %x, %w : (tensor<8x128xf32>, tensor<128x90xf32>) -> tensor<8x90xf32>
  func.return %y : tensor<8x90xf32>
}

// -----

// CHECK-LABEL: @less_than_a_vector_stays
// CHECK-NOT:   layout
func.func @less_than_a_vector_stays(%x: tensor<8x1280xf32>) -> tensor<8x9xf32> {
  %w = graph.constant dense<1.0> : tensor<1280x9xf32>
  %y = graph.matmul %x, %w : (tensor<8x1280xf32>, tensor<1280x9xf32>) -> tensor<8x9xf32>
  func.return %y : tensor<8x9xf32>
}

// -----

// CHECK-LABEL: @small_matrix_stays
// CHECK-NOT:   layout
func.func @small_matrix_stays(%x: tensor<5x64xf32>) -> tensor<5x96xf32> {
  %w = graph.constant dense<1.0> : tensor<64x96xf32>
  %y = graph.matmul %x, %w : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  func.return %y : tensor<5x96xf32>
}

// -----

// CHECK-LABEL: @batch_of_matrices_stays
// CHECK-NOT:   layout
func.func @batch_of_matrices_stays(%x: tensor<2x5x128xf32>) -> tensor<2x5x96xf32> {
  %w = graph.constant dense<1.0> : tensor<2x128x96xf32>
  %y = graph.matmul %x, %w : (tensor<2x5x128xf32>, tensor<2x128x96xf32>) -> tensor<2x5x96xf32>
  func.return %y : tensor<2x5x96xf32>
}

// -----

// One row takes wider panels.
// CHECK-LABEL: @one_row
// CHECK:       graph.matmul %x, %{{.*}} weight_layout "NK128n"
// CHECK:       graph.matmul %{{.*}}, %{{[^ ]*}} : (tensor<1x512xf32>, tensor<512x16xf32>)
func.func @one_row(%x: tensor<1x1024xf32>) -> tensor<1x16xf32> {
  %w = graph.constant dense<1.0> : tensor<1024x512xf32>
  %y = graph.matmul %x, %w : (tensor<1x1024xf32>, tensor<1024x512xf32>) -> tensor<1x512xf32>
  %v = graph.constant dense<1.0> : tensor<512x16xf32>
  %z = graph.matmul %y, %v : (tensor<1x512xf32>, tensor<512x16xf32>) -> tensor<1x16xf32>
  func.return %z : tensor<1x16xf32>
}

// -----

// Sums that are wider than their factors stay so.
// CHECK-LABEL: @wide_sums
// CHECK:       graph.matmul %x, %{{.*}} weight_layout "NK48n" wide : (tensor<16x128xf16>, tensor<2x128x48xf32>) -> tensor<16x96xf32>
func.func @wide_sums(%x: tensor<16x128xf16>) -> tensor<16x96xf32> {
  %w = graph.constant dense<1.0> : tensor<128x96xf32>
  %y = graph.matmul %x, %w wide : (tensor<16x128xf16>, tensor<128x96xf32>) -> tensor<16x96xf32>
  func.return %y : tensor<16x96xf32>
}

// -----

// CHECK-LABEL: @wide_sums_of_a_row
// CHECK:       graph.matmul %k, %{{.*}} wide : (tensor<2x128x64xf16>, tensor<2x64x1xf16>) -> tensor<2x128x1xf32>
func.func @wide_sums_of_a_row(%x: tensor<2x1x64xf16>, %k: tensor<2x128x64xf16>) -> tensor<2x1x128xf32> {
  %w = graph.transpose %k perm [0, 2, 1] : (tensor<2x128x64xf16>) -> tensor<2x64x128xf16>
  %y = graph.matmul %x, %w wide : (tensor<2x1x64xf16>, tensor<2x64x128xf16>) -> tensor<2x1x128xf32>
  func.return %y : tensor<2x1x128xf32>
}
