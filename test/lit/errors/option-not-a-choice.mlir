// RUN: not nn-opt --choose-convolution=winograd=maybe %s 2>&1 | filecheck %s

// CHECK:      error: --choose-convolution: winograd is 'maybe', expected one of auto, off, force2, force4
func.func @f() {
  func.return
}
