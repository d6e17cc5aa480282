; What Linux says of the processor: getauxval(leaf), and for leaf 51 the length of SVE's vectors in bytes, with all
; bits below it.
declare i64 @getauxval(i64)
declare i32 @prctl(i32, ...)
define internal i64 @probe(i32 %leaf, i32 %subleaf, i32 %register) nounwind {
  %sve = icmp eq i32 %leaf, 51 ; PR_SVE_GET_VL
  br i1 %sve, label %length, label %bits
bits:
  %leaf64 = zext i32 %leaf to i64
  %value = call i64 @getauxval(i64 %leaf64)
  ret i64 %value
length:
  %state = call i32 (i32, ...) @prctl(i32 51, i64 0, i64 0, i64 0, i64 0)
  %none = icmp slt i32 %state, 0
  %bytes = and i32 %state, 65535
  %twice = shl i32 %bytes, 1
  %all = sub i32 %twice, 1
  %mask = select i1 %none, i32 0, i32 %all
  %mask64 = zext i32 %mask to i64
  ret i64 %mask64
}
