// The weights of a lowered module are in a list: they go to the file and come back, too.
// RUN: nn-opt %s --compile --emit-weights=%t.safetensors -o %t.mlir
// RUN: filecheck %s --check-prefix=KEYS <%t.mlir
// RUN: nn-opt --weights=%t.safetensors --inline-weights %t.mlir | filecheck %s --check-prefix=VALUES
// RUN: nn-opt %s --compile --inline-weights | filecheck %s --check-prefix=VALUES
// RUN: not nn-opt --inline-weights %t.mlir 2>&1 | filecheck %s --check-prefix=MISSING

// A reproducer of what comes after the last conversion has them, too.
// RUN: not nn-opt %s --load=%S/Inputs/gives_up.py --compile --gives-up --crash-reproducer=%t.repro 2>&1 | filecheck %s --check-prefix=FAILED
// RUN: nn-opt --run-reproducer --inline-weights --disable-pass=gives-up %t.repro | filecheck %s --check-prefix=VALUES

// KEYS:    builtin.module attributes {{.*}}nn.weights = [#graph.resource<"{{[0-9a-f]*}}">]
// VALUES:  builtin.module attributes {{.*}}nn.weights = [dense<-2.500000e+00> : tensor<20xf32>]
// MISSING: error: the weights of resource '{{[0-9a-f]*}}' are not here
// FAILED:  error: gives-up: {{.*}} is one too many
func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {
  %c = graph.constant dense<2.5> : tensor<20xf32>
  %d = graph.neg %c : tensor<20xf32>
  %n = graph.add %d, %x : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
  func.return %n : tensor<20xf32>
}
