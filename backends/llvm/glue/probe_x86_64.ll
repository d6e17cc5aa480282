; What the processor says of itself. The two functions are bytes of machine code, for which LLVM needs no assembler:
; cpuid: push rbx; mov eax, edi; mov ecx, esi; mov r8, rdx; cpuid; mov [r8], eax; mov [r8+4], ebx; mov [r8+8], ecx;
;        mov [r8+12], edx; pop rbx; ret
; xgetbv: xor ecx, ecx; xgetbv; ret
define internal void @cpuid(i32 %leaf, i32 %subleaf, ptr %to) nounwind noinline prologue [27 x i8] c"\53\89\F8\89\F1\49\89\D0\0F\A2\41\89\00\41\89\58\04\41\89\48\08\41\89\50\0C\5B\C3" {
  unreachable
}
define internal i32 @xgetbv() nounwind noinline prologue [6 x i8] c"\31\C9\0F\01\D0\C3" {
  unreachable
}
define internal i64 @probe(i32 %leaf, i32 %subleaf, i32 %register) nounwind {
entry:
  %all = alloca [4 x i32]
  %special = icmp eq i32 %leaf, 4294967295
  br i1 %special, label %state, label %ask
state:
  %saved = call i32 @xgetbv()
  %saved64 = zext i32 %saved to i64
  ret i64 %saved64
ask:
  %base = and i32 %leaf, 2147483648
  call void @cpuid(i32 %base, i32 0, ptr %all)
  %most = load i32, ptr %all
  %beyond = icmp ugt i32 %leaf, %most
  br i1 %beyond, label %none, label %known
none:
  ret i64 0
known:
  call void @cpuid(i32 %leaf, i32 %subleaf, ptr %all)
  %value.p = getelementptr [4 x i32], ptr %all, i32 0, i32 %register
  %value = load i32, ptr %value.p
  %value64 = zext i32 %value to i64
  ret i64 %value64
}
