// A model is compiled, run on given or random inputs, timed, and compared with another runtime.
// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/net.txt %t.onnx
// RUN: nn-run %t.onnx --dim N=3 --seed 1 --repeat 2 --threads 1 --no-cache --compare onnxruntime --profile | filecheck %s
// RUN: python -c "import numpy as n; n.save(r'%t.npy', n.ones((1, 4), n.float32))"
// RUN: nn-run %t.onnx --shape x=1x4 --input x=%t.npy --repeat 1 --winograd off --precision f32 --deterministic --debug-info --target cpu --save-outputs %t.npz
// RUN: python -c "import numpy as n; print(n.load(r'%t.npz')['y'])" | filecheck %s --check-prefix=SAVED
// RUN: nn-run %t.onnx --dim N=3 --threads 1 --no-cache --compare reference --per-node --tolerance 1e-4 | filecheck %s --check-prefix=NODES
// RUN: not nn-run %t.onnx --dim N=3 --no-cache --compare reference --minimize %t.small.onnx 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: not nn-run %t.onnx --debug --repeat 0 2>&1 | filecheck %s --check-prefix=DEBUG

// CHECK: compiled, loaded and run once in
// CHECK: 3x2
// CHECK: Largest relative error against onnxruntime:
// CHECK: product, positive
// NODES: Values beside reference's, in order
// NODES: product
// NODES: positive
// NODES: No value differs by more than 0.0001
// NOTHING: error: --minimize: no output differs by more than 0.001 from reference
// SAVED: {{\[\[}}16. 20.]]
// DEBUG: Traceback (most recent call last):
// DEBUG: error: --repeat is 0, expected 1 or more
