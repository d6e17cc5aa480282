// A state of which a step changes one element a row is written in place, at an index that is surely
// inside; everything else is copied.
// RUN: nn-opt --convert-tensor-to-loop --split-input-file %s | filecheck %s

// CHECK-LABEL: @counts
// CHECK:         loop.for %t = 0 to 9 {
// CHECK-NEXT:      %[[DIGIT:.*]] = loop.view
// CHECK-NEXT:      loop.for %i = 0 to 2 {
// CHECK-NEXT:        loop.block "counted" (%[[ROW:.*]] = %i : par 2) {
// CHECK:               %[[AT:.*]] = arith.minsi
// CHECK-NEXT:          %[[OLD:.*]] = loop.load %[[STATE:.*]][%[[ROW]], %[[AT]]] : memref<2x4xi32>
// CHECK:               %[[NEW:.*]] = arith.addi %[[OLD]]
// CHECK-NEXT:          loop.store %[[NEW]], %[[STATE]][%[[ROW]], %[[AT]]] : memref<2x4xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
func.func @counts(%none: tensor<2x4xi32>, %digits: tensor<9x2xi32>) -> tensor<2x4xi32> {
  %counts = tensor.scan 1 (%now = %none : tensor<2x4xi32>, %digit = %digits : tensor<9x2xi32>) -> (tensor<2x4xi32>) {
    %next = tensor.compute "counted" (%i: 2, %j: 4) : tensor<2x4xi32> {
      %d = tensor.read %digit[%i] : tensor<2xi32>
      %x = arith.index_cast %d : i32 to index
      %zero = arith.constant 0 : index
      %y = arith.maxsi %x, %zero : index
      %most = arith.constant 3 : index
      %at = arith.minsi %y, %most : index
      %old = tensor.read %now[%i, %at] : tensor<2x4xi32>
      %one = arith.constant 1 : i32
      %new = arith.addi %old, %one : i32
      %here = arith.cmpi eq, %j, %at : index
      %kept = tensor.read %now[%i, %j] : tensor<2x4xi32>
      %e = arith.select %here, %new, %kept : i32
      tensor.yield %e : i32
    }
    tensor.yield %next : tensor<2x4xi32>
  }
  func.return %counts : tensor<2x4xi32>
}

// -----

// An index that may be outside.
// CHECK-LABEL: @anywhere
// CHECK:         loop.block "moved" (%{{.*}} = %i : par 4) {
// CHECK:         loop.copy %{{.*}} to
func.func @anywhere(%none: tensor<4xi32>, %places: tensor<9xindex>) -> tensor<4xi32> {
  %all = tensor.scan 1 (%now = %none : tensor<4xi32>, %place = %places : tensor<9xindex>) -> (tensor<4xi32>) {
    %next = tensor.compute "moved" (%i: 4) : tensor<4xi32> {
      %at = tensor.read %place[] : tensor<index>
      %one = arith.constant 1 : i32
      %here = arith.cmpi eq, %i, %at : index
      %kept = tensor.read %now[%i] : tensor<4xi32>
      %e = arith.select %here, %one, %kept : i32
      tensor.yield %e : i32
    }
    tensor.yield %next : tensor<4xi32>
  }
  func.return %all : tensor<4xi32>
}

// -----

// What the state was before is read later.
// CHECK-LABEL: @before
// CHECK:         loop.block "moved" (%{{.*}} = %i : par 4) {
// CHECK:         loop.block "first" (
// CHECK:         loop.copy %{{.*}} to
func.func @before(%none: tensor<4xi32>, %clock: tensor<9xi32>) -> (tensor<4xi32>, tensor<9xi32>) {
  %all, %firsts = tensor.scan 1 (%now = %none : tensor<4xi32>, %time = %clock : tensor<9xi32>) -> (tensor<4xi32>, tensor<9xi32>) {
    %next = tensor.compute "moved" (%i: 4) : tensor<4xi32> {
      %t = tensor.read %time[] : tensor<i32>
      %x = arith.index_cast %t : i32 to index
      %zero = arith.constant 0 : index
      %y = arith.maxsi %x, %zero : index
      %most = arith.constant 3 : index
      %at = arith.minsi %y, %most : index
      %here = arith.cmpi eq, %i, %at : index
      %kept = tensor.read %now[%i] : tensor<4xi32>
      %e = arith.select %here, %t, %kept : i32
      tensor.yield %e : i32
    }
    %first = tensor.compute "first" () : tensor<i32> {
      %e = tensor.read %now[0] : tensor<4xi32>
      tensor.yield %e : i32
    }
    tensor.yield %next, %first : tensor<4xi32>, tensor<i32>
  }
  func.return %all, %firsts : tensor<4xi32>, tensor<9xi32>
}
