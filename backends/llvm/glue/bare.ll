; Without a system there is nobody to ask for a processor's features, and no thread.
define internal i64 @probe(i32 %leaf, i32 %subleaf, i32 %register) nounwind {
  ret i64 0
}
define internal void @call(ptr %inputs, ptr %outputs, ptr %arena) nounwind {
  %main = call ptr @main_of_choice()
  call void %main(ptr %inputs, ptr %outputs, ptr @weights, ptr %arena)
  ret void
}
