// RUN: not nn-opt --bisect=no-such-command --cse %s 2>&1 | filecheck %s

// CHECK:      error: --bisect: cannot run 'no-such-command': No such file or directory
func.func @f() {
  func.return
}
