builtin.module @named {
  func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = graph.relu %x : tensor<2xf32>
    %z = graph.relu %y : tensor<2xf32>
    func.return %z : tensor<2xf32>
  }
}
