// Remarks that match a pattern, as lines, JSON, or YAML in the form of LLVM.
// RUN: nn-opt --remarks --fold-constants --fuse-ops %s 2>&1 >%t | filecheck %s --check-prefix=ALL
// RUN: nn-opt --remarks=fold-c.*s --fold-constants --fuse-ops %s 2>&1 >%t | filecheck %s --check-prefix=SOME
// RUN: nn-opt --remarks=fold-constants --remarks-format=json --fold-constants --fuse-ops %s 2>&1 >%t | python3 -m json.tool | filecheck %s --check-prefix=JSON
// RUN: nn-opt --remarks-format=yaml --fold-constants %s 2>&1 >%t | filecheck %s --check-prefix=YAML
// RUN: not nn-opt '--remarks=(' %s 2>&1 >%t | filecheck %s --check-prefix=NOT

// ALL:       kept: {{.*}} [fold-constants]
// ALL:       [fuse-ops]
// SOME:      remarks.mlir:{{[0-9]+}}:8: remark: graph.expand: kept: 4 bytes of constants would become 4194304 [fold-constants]
// SOME-NOT:  [fuse-ops]
// JSON:      "pass": "fold-constants",
// JSON-NEXT: "operation": "graph.expand",
// JSON-NEXT: "function": "f",
// JSON-NEXT: "location": "{{.*}}remarks.mlir:{{[0-9]+}}:8",
// JSON-NEXT: "text": "kept: 4 bytes
// JSON-NOT:  "pass"
// YAML:      {{^}}--- !Analysis{{$}}
// YAML-NEXT: {{^}}Pass:            'fold-constants'{{$}}
// YAML-NEXT: {{^}}Name:            'graph.expand'{{$}}
// YAML-NEXT: {{^}}DebugLoc:        { File: '{{.*}}remarks.mlir', Line: {{[0-9]+}}, Column: 8 }{{$}}
// YAML-NEXT: {{^}}Function:        'f'{{$}}
// YAML-NEXT: {{^}}Args:{{$}}
// YAML-NEXT: {{^}}  - String:          'kept: 4 bytes of constants would become 4194304'{{$}}
// YAML-NEXT: {{^}}...{{$}}
// NOT:       error: --remarks is '(': missing
func.func @f(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %c = graph.constant dense<1.0> : tensor<1x1xf32>
  %e = graph.expand %c : (tensor<1x1xf32>) -> tensor<1024x1024xf32>
  %y = graph.add %x, %e : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  func.return %y : tensor<1024x1024xf32>
}
func.func @g(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.relu %a : tensor<4x4xf32>
  %c = graph.matmul %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %b, %c : tensor<4x4xf32>, tensor<4x4xf32>
}
