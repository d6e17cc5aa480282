// RUN: nn-opt --split-input-file %s | filecheck %s
// RUN: nn-opt --split-input-file %s | nn-opt --split-input-file | filecheck %s

// CHECK: func.func @same
func.func @same() { func.return }
// CHECK: // -----
// -----
// CHECK: func.func @same
func.func @same() { func.return }
