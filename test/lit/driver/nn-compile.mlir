// A model becomes an object and a C header, for this machine or another one.
// RUN: python %S/../frontends/Inputs/model.py %S/Inputs/net.txt %t.onnx
// RUN: nn-compile %t.onnx --shape x=3x4 --name net --threads 1 --winograd off --precision f32 --deterministic --no-cache --target x86-64-v4 -o %t-lib.o
// RUN: filecheck %s <%t-lib.h
// RUN: nn-compile %t.onnx --dim N=3 --embed-weights -o %t.c | filecheck %s --check-prefix=RAM
// RUN: not nn-compile %t.onnx --dim N=3 --mean 0 --std 1 --labels %s -o %t.html 2>&1 | filecheck %s --check-prefix=PAGE
// RUN: nn-compile %t.onnx --dim N=3 --debug-info --target x86-64-v4 -o %t.ll
// RUN: filecheck %s --check-prefix=LLVM <%t.ll
// RUN: not nn-compile %t.onnx --debug -o %t.exe 2>&1 | filecheck %s --check-prefix=DEBUG

// CHECK: [0] x: float32[3, 4]
// CHECK: int net_run(const void *const *inputs, void *const *outputs);
// RAM: .c: RAM: arena {{.*}}, inputs and outputs {{.*}} bytes, arrays on the stack {{.*}}; flash: weights
// PAGE: error: --mean is for images, and no input of
// LLVM:  define void @nn_main(
// LLVM:  !DILocation(
// DEBUG: Traceback (most recent call last):
// DEBUG: error: -o is
