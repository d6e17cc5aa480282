// RUN: nn-opt --apply-pdl=%S/Inputs/apply-pdl/rules.pdl --allow-unregistered-dialect %s | filecheck %s
// RUN: nn-opt "--pass-pipeline=func.func(apply-pdl{file=%S/Inputs/apply-pdl/rules.pdl})" --allow-unregistered-dialect %s | filecheck %s
// RUN: nn-opt --apply-pdl=%S/Inputs/apply-pdl/rules.pdl --allow-unregistered-dialect --remarks=apply-pdl --statistics --debug-counter=apply-pdl=1 %s 2>&1 >/dev/null | filecheck %s --check-prefix=COUNTER
// RUN: nn-opt --apply-pdl=%S/Inputs/apply-pdl/rules.pdl --allow-unregistered-dialect --print-locations %s | filecheck %s --check-prefix=PLACE
// RUN: nn-opt --apply-pdl=%S/Inputs/apply-pdl/rules.pdl --allow-unregistered-dialect --print-patterns %s 2>&1 >/dev/null | filecheck %s --check-prefix=NAMES

// NAMES: apply-pdl.mlir:{{[0-9]+}}:8: graph.relu: @DoubleRelu [apply-pdl]
// COUNTER:      apply-pdl.mlir:{{[0-9]+}}:8: remark: graph.relu: @DoubleRelu applied [apply-pdl]
// COUNTER-NOT:  remark
// COUNTER:      (S) 1 patterns-applied - matches that were rewritten

// CHECK-LABEL: @double_relu
func.func @double_relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = graph.relu
  // CHECK-NEXT: func.return %[[Y]]
  %a = graph.relu %x : tensor<4xf32>
  %b = graph.relu %a : tensor<4xf32>
  %c = graph.relu %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// CHECK-LABEL: @products_of_one_factor
func.func @products_of_one_factor(%a: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[S:.*]] = graph.add %a, %b
  // CHECK-NEXT: graph.mul %[[S]], %x
  // PLACE: graph.mul {{.*}} loc(fused["{{.*}}apply-pdl.mlir":
  %p = graph.mul %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %q = graph.mul %b, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = graph.add %p, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// CHECK-LABEL: @second_reader_blocks
func.func @second_reader_blocks(%a: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-2: graph.mul
  // CHECK-NEXT: graph.add
  %p = graph.mul %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %q = graph.mul %b, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = graph.add %p, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s, %q : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @other_factors_block
func.func @other_factors_block(%a: tensor<4xf32>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-2: graph.mul
  %p = graph.mul %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %q = graph.mul %a, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = graph.add %p, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// CHECK-LABEL: @attribute_and_type
func.func @attribute_and_type(%x: tensor<8xf32>, %y: tensor<9xf32>) -> (tensor<8xf32>, tensor<9xf32>) {
  // CHECK-NEXT: graph.gelu %x approximate "tanh"
  // CHECK-NEXT: graph.gelu %y approximate "none"
  %a = graph.gelu %x approximate "none" : tensor<8xf32>
  %b = graph.gelu %y approximate "none" : tensor<9xf32>
  func.return %a, %b : tensor<8xf32>, tensor<9xf32>
}

// CHECK-LABEL: @multiple_results
func.func @multiple_results(%x: i32) -> (i32, i32) {
  // CHECK-NEXT: %[[A:.*]], %[[B:.*]] = "demo.swapped"(%x, %x) : (i32, i32) -> (i32, i32)
  // CHECK-NEXT: func.return %[[B]], %[[A]]
  %a, %b = "demo.two"(%x, %x) : (i32, i32) -> (i32, i32)
  func.return %a, %b : i32, i32
}

// CHECK-LABEL: @fewer_results
func.func @fewer_results(%x: i32) -> i32 {
  // CHECK-NEXT: "demo.two"
  %a = "demo.two"(%x) : (i32) -> i32
  func.return %a : i32
}

// CHECK-LABEL: @benefit
func.func @benefit() {
  // CHECK-NEXT: "demo.high"() : () -> ()
  "demo.which"() : () -> ()
  func.return
}

// CHECK-LABEL: @two_readers
func.func @two_readers(%x: f32, %y: f32) -> (f32, f32, f32) {
  // CHECK-NEXT: %[[S:.*]], %[[C:.*]] = "demo.sincos"(%x)
  // CHECK-NEXT: %[[T:.*]] = math.sin %y
  // CHECK-NEXT: func.return %[[S]], %[[C]], %[[T]]
  %s = math.sin %x : f32
  %c = math.cos %x : f32
  %t = math.sin %y : f32
  func.return %s, %c, %t : f32, f32, f32
}

// CHECK-LABEL: @type_of_attribute
func.func @type_of_attribute(%x: f32) {
  // CHECK-NEXT: "demo.note"(%x) {bits = 1 : i16}
  // CHECK-NEXT: "demo.note"(%x) : (f32) -> ()
  // CHECK-NEXT: "demo.note"() {bits = 1 : i8}
  // CHECK-NEXT: func.return
  "demo.note"(%x) {bits = 1 : i8} : (f32) -> ()
  "demo.note"(%x, %x, %x) {bits = 1 : i8} : (f32, f32, f32) -> ()
  "demo.note"(%x) {bits = 1 : i16} : (f32) -> ()
  "demo.note"(%x) : (f32) -> ()
  "demo.note"() {bits = 1 : i8} : () -> ()
  func.return
}

// CHECK-LABEL: @constant_attribute
func.func @constant_attribute(%x: i32) -> (i32, i32) {
  // CHECK:      %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: %[[A:.*]] = arith.shli %x, %[[ONE]] : i32
  // CHECK-NEXT: %[[B:.*]] = arith.muli %x, %{{.*}} : i32
  // CHECK-NEXT: func.return %[[A]], %[[B]]
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %a = arith.muli %x, %two : i32
  %b = arith.muli %x, %three : i32
  func.return %a, %b : i32, i32
}
