// Times are a tree, pipelines around their passes; or JSON. The file name is not a flag's value.
// RUN: nn-opt --pass-pipeline='optimize-graph,func.func(cse)' --timing %s 2>&1 >%t | filecheck %s
// RUN: nn-opt --optimize-graph --timing=json %s 2>%t.json >%t
// RUN: python3 -m json.tool %t.json | filecheck %s --check-prefix=JSON
// RUN: not nn-opt --timing=xml %s 2>&1 | filecheck %s --check-prefix=NOT

// CHECK:      Execution time report
// CHECK:      Total Execution Time: {{[0-9.]+}} seconds
// CHECK:      ----Wall Time----  ----Name----
// CHECK-NEXT: {{[0-9.]+ \([ 0-9.]+%\)}}  (read)
// CHECK-NEXT: {{^.*%\)}}  (verify)
// CHECK-NEXT: {{^.*%\)}}  optimize-graph
// CHECK-NEXT: {{^.*%\)}}    infer-shapes
// CHECK:      {{^.*%\)}}  func.func
// CHECK-NEXT: {{^.*%\)}}    cse
// CHECK-NEXT: {{^.*%\)}}  (print)
// CHECK-NEXT: {{^.*%\)}}  (rest)
// CHECK-NEXT: (100.0%)  Total
// JSON:       "seconds": {{[0-9.e-]+}}
// JSON:       "name": "optimize-graph"
// JSON:       "steps":
// JSON:         "name": "infer-shapes"
// JSON:         "percent": {{[0-9.e-]+}}
// NOT:        choose from 'tree', 'json'
func.func private @f()
