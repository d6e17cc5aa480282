// RUN: printf '\377\376\375\374' > %t.onnx
// RUN: not nn-opt %t.onnx 2>&1 | filecheck %s

// CHECK:      error: not an ONNX model, or a truncated one (4 bytes)
// CHECK-NEXT:   hint: an ONNX file is a serialised ModelProto, with graphs at most 32 deep in each other; download or export it again

