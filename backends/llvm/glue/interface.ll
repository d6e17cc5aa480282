; What every library has: code is chosen, arguments are looked at, questions answered.
%Tensor = type { ptr, ptr, i64, ptr, i64 }
%Need = type { i32, i32, i32, i64, ptr }
%Variant = type { ptr, ptr, i64, ptr }

@chosen = internal global i32 0
@lacking = internal global ptr null
define internal ptr @lacks(ptr %needs, i64 %count) nounwind {
entry:
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %have]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %all, label %ask
ask:
  %need = getelementptr %Need, ptr %needs, i64 %k
  %leaf = load i32, ptr %need
  %subleaf.p = getelementptr %Need, ptr %need, i32 0, i32 1
  %subleaf = load i32, ptr %subleaf.p
  %register.p = getelementptr %Need, ptr %need, i32 0, i32 2
  %register = load i32, ptr %register.p
  %bits.p = getelementptr %Need, ptr %need, i32 0, i32 3
  %bits = load i64, ptr %bits.p
  %found = call i64 @probe(i32 %leaf, i32 %subleaf, i32 %register)
  %some = and i64 %found, %bits
  %has = icmp eq i64 %some, %bits
  br i1 %has, label %have, label %lack
have:
  %next = add i64 %k, 1
  br label %look
lack:
  %says.p = getelementptr %Need, ptr %need, i32 0, i32 4
  %says = load ptr, ptr %says.p
  ret ptr %says
all:
  ret ptr null
}
; The first variant that runs here, from 1 on, or -1; every thread finds the same.
define internal i32 @choose() nounwind {
entry:
  %known = load atomic i32, ptr @chosen acquire, align 4
  %is = icmp ne i32 %known, 0
  br i1 %is, label %out, label %look
out:
  ret i32 %known
look:
  %k = phi i64 [0, %entry], [%next, %missing]
  %variant = getelementptr %Variant, ptr @variants, i64 %k
  %needs.p = getelementptr %Variant, ptr %variant, i32 0, i32 1
  %needs = load ptr, ptr %needs.p
  %count.p = getelementptr %Variant, ptr %variant, i32 0, i32 2
  %count = load i64, ptr %count.p
  %says = call ptr @lacks(ptr %needs, i64 %count)
  %next = add i64 %k, 1
  %fits = icmp eq ptr %says, null
  br i1 %fits, label %found, label %missing
missing:
  %last = icmp eq i64 %next, ${count}
  br i1 %last, label %none, label %look
none:
  store ptr %says, ptr @lacking
  br label %keep
found:
  %number = trunc i64 %next to i32
  br label %keep
keep:
  %choice = phi i32 [%number, %found], [-1, %none]
  store atomic i32 %choice, ptr @chosen release, align 4
  ret i32 %choice
}
define ptr @${name}_variant() nounwind {
  %choice = call i32 @choose()
  %fits = icmp sgt i32 %choice, 0
  br i1 %fits, label %yes, label %no
yes:
  %k = sub i32 %choice, 1
  %variant.p = getelementptr %Variant, ptr @variants, i32 %k, i32 3
  %variant = load ptr, ptr %variant.p
  ret ptr %variant
no:
  ret ptr null
}

define ptr @${name}_input(i64 %k) nounwind {
  %is = icmp ult i64 %k, ${inputs}
  %at = getelementptr %Tensor, ptr @inputs, i64 %k
  %answer = select i1 %is, ptr %at, ptr null
  ret ptr %answer
}
define ptr @${name}_output(i64 %k) nounwind {
  %is = icmp ult i64 %k, ${outputs}
  %at = getelementptr %Tensor, ptr @outputs, i64 %k
  %answer = select i1 %is, ptr %at, ptr null
  ret ptr %answer
}
define ptr @${name}_message(i32 %code) nounwind {
  %lacking = load ptr, ptr @lacking
  %said = icmp ne ptr %lacking, null
  %cpu = icmp eq i32 %code, ${wrong_cpu}
  %own = and i1 %said, %cpu
  %is = icmp ult i32 %code, ${codes}
  %row = select i1 %is, i32 %code, i32 ${codes}
  %at = getelementptr ptr, ptr @messages, i32 %row
  %usual = load ptr, ptr %at
  %answer = select i1 %own, ptr %lacking, ptr %usual
  ret ptr %answer
}
define ptr @${name}_description() nounwind {
  ret ptr @description
}
define internal i32 @any_null(ptr %table, i64 %count, i32 %code) nounwind {
entry:
  %null0 = icmp eq ptr %table, null
  %some = icmp ne i64 %count, 0
  %none = and i1 %null0, %some
  br i1 %none, label %bad, label %look
look:
  %k = phi i64 [0, %entry], [%next, %ask]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %good, label %ask
ask:
  %at = getelementptr ptr, ptr %table, i64 %k
  %address = load ptr, ptr %at
  %next = add i64 %k, 1
  %null = icmp eq ptr %address, null
  br i1 %null, label %bad, label %look
good:
  ret i32 0
bad:
  ret i32 %code
}
define internal i32 @check(ptr %inputs, ptr %outputs) nounwind {
  %choice = call i32 @choose()
  %fits = icmp sgt i32 %choice, 0
  br i1 %fits, label %first, label %cpu
cpu:
  ret i32 ${wrong_cpu}
first:
  %a = call i32 @any_null(ptr %inputs, i64 ${inputs}, i32 ${null_input})
  %b = call i32 @any_null(ptr %outputs, i64 ${outputs}, i32 ${null_output})
  %good = icmp eq i32 %a, 0
  %rc = select i1 %good, i32 %b, i32 %a
  ret i32 %rc
}
define internal ptr @main_of_choice() nounwind {
  %choice = load atomic i32, ptr @chosen acquire, align 4
  %k = sub i32 %choice, 1
  %main.p = getelementptr %Variant, ptr @variants, i32 %k, i32 0
  %main = load ptr, ptr %main.p
  ret ptr %main
}
define i32 @${name}_run_in(ptr %inputs, ptr %outputs, ptr %arena) nounwind {
entry:
  %rc = call i32 @check(ptr %inputs, ptr %outputs)
  %good = icmp eq i32 %rc, 0
  br i1 %good, label %place, label %bad
bad:
  ret i32 %rc
place:
  %address = ptrtoint ptr %arena to i64
  %rest = and i64 %address, 63
  %null = icmp eq i64 %address, 0
  %crooked = icmp ne i64 %rest, 0
  %wrong = or i1 %null, %crooked
  br i1 %wrong, label %no, label %run
no:
  ret i32 ${bad_arena}
run:
  call void @call(ptr %inputs, ptr %outputs, ptr %arena)
  ret i32 0
}
