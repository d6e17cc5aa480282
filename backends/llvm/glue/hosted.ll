; Where there are threads: each that calls keeps its temporaries for its next call.
@${name}_threads = global i32 ${threads}
@key = internal global i32 0
%Hook = type { i32, ptr, ptr }
@llvm.global_ctors = appending global [1 x %Hook] [%Hook { i32 65535, ptr @start, ptr null }]
@llvm.global_dtors = appending global [1 x %Hook] [%Hook { i32 65535, ptr @stop, ptr null }]
declare void @nn_pool_init()
declare void @nn_pool_stop()
declare void @nn_call(ptr, ptr, ptr, ptr, ptr, i64)
declare i32 @pthread_key_create(ptr, ptr)
declare i32 @pthread_key_delete(i32)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
define internal void @start() {
  call void @nn_pool_init()
  %rc = call i32 @pthread_key_create(ptr @key, ptr @free)
  ret void
}
define internal void @stop() {
  call void @nn_pool_stop()
  %key = load i32, ptr @key
  %rc = call i32 @pthread_key_delete(i32 %key)
  ret void
}
define i32 @${name}_run(ptr %inputs, ptr %outputs) {
entry:
  %key = load i32, ptr @key
  %kept = call ptr @pthread_getspecific(i32 %key)
  %first = icmp eq ptr %kept, null
  br i1 %first, label %allocate, label %run
allocate:
  %new = call ptr @aligned_alloc(i64 ${page}, i64 ${arena_bytes})
  %none = icmp eq ptr %new, null
  br i1 %none, label %fail, label %keep
keep:
  %rc0 = call i32 @pthread_setspecific(i32 %key, ptr %new)
  br label %run
run:
  %arena = phi ptr [%kept, %entry], [%new, %keep]
  %rc = call i32 @${name}_run_in(ptr %inputs, ptr %outputs, ptr %arena)
  ret i32 %rc
fail:
  ret i32 ${no_memory}
}
define internal void @call(ptr %inputs, ptr %outputs, ptr %arena) nounwind {
  %main = call ptr @main_of_choice()
  %threads32 = load i32, ptr @${name}_threads
  %many = icmp sgt i32 %threads32, 1
  %some = select i1 %many, i32 %threads32, i32 1
  %threads = zext i32 %some to i64
  call void @nn_call(ptr %main, ptr %inputs, ptr %outputs, ptr @weights, ptr %arena, i64 %threads)
  ret void
}
