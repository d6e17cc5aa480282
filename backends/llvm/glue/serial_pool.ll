; Where there are no threads, a parallel loop is a loop.
define void @nn_pool_init() nounwind {
  ret void
}
define void @nn_pool_stop() nounwind {
  ret void
}
define void @nn_parallel(ptr %body, ptr %context, i64 %extent) nounwind {
  call void %body(i64 0, i64 %extent, ptr %context)
  ret void
}
define void @nn_call(ptr %main, ptr %in, ptr %out, ptr %weights, ptr %arena, i64 %n) nounwind {
  call void %main(ptr %in, ptr %out, ptr %weights, ptr %arena)
  ret void
}
