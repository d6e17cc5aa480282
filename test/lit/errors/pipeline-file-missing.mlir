// RUN: not nn-opt --pass-pipeline-file=%t.nowhere %s 2>&1 | filecheck %s

// CHECK:      nowhere: error: No such file or directory
func.func @f() {
  func.return
}
