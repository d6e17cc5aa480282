; The thread pool behind every parallel loop: `nn_parallel` runs body(begin, end, context) over chunks of [0, extent).
;
; A region is published in `ticket`: region number (32 bits), width (16), chunks not yet claimed (16). Whoever swaps the
; ticket for one with a chunk less owns that chunk; the caller claims too, so it never waits for a worker that is late.
; Workers spin on `generation` for a bounded time, then sleep in the kernel; `busy` lets one region run at a time, and
; a second caller, or a nested loop, runs its whole extent itself.
; $$PAUSE, $$PAUSE_TYPE, $$FUTEX and $$SIG_SETMASK are filled in by the loader for the machine.

%Pool = type {
  i32, i32, i32, i32, [48 x i8], ;  0 pid, 1 busy, 2 workers, 3 full
  i32, i32, i32, [52 x i8],      ;  5 generation, 6 sleepers, 7 stop
  i64, [56 x i8],                ;  9 ticket
  ptr, ptr, i64, i64, [32 x i8], ; 11 body, 12 context, 13 extent, 14 chunks
  i32, i32, [56 x i8],           ; 16 left, 17 waiting
  [256 x i64]                    ; 19 threads
}
%Start = type { ptr, i64 } ; what a new worker is told: its pool and its number
%Time = type { i64, i64 }  ; seconds, nanoseconds

@pool = internal global ptr null, align 64
@key = internal global i32 0 ; thread-specific: how many threads the calling thread may use

@profile.table = internal global ptr null ; nanoseconds by kernel
@profile.count = internal global i64 0
@profile.last = internal global i64 0

declare i32 @getpid()
declare ptr @aligned_alloc(i64, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare void $PAUSE_TYPE
declare i64 @syscall(i64, ...)

; Prepare the process; called once, before anything else here.
define void @nn_pool_init() nounwind {
  %made = call i32 @pthread_key_create(ptr @key, ptr null)
  ret void
}

define internal i64 @now() nounwind { ; nanoseconds
  %time = alloca %Time
  %rc = call i32 @clock_gettime(i32 1, ptr %time) ; CLOCK_MONOTONIC
  %s = load i64, ptr %time
  %p = getelementptr %Time, ptr %time, i32 0, i32 1
  %ns = load i64, ptr %p
  %a = mul i64 %s, 1000000000
  %b = add i64 %a, %ns
  ret i64 %b
}

; Wait for *word to change from old, for 30 us at most (without a bound, it can hang); return whether it did.
define internal i1 @spin(ptr %word, i32 %old) nounwind {
entry:
  %start = call i64 @now()
  br label %round
round:
  br label %look
look:
  %i = phi i32 [0, %round], [%i1, %pause]
  %value = load atomic i32, ptr %word acquire, align 4
  %changed = icmp ne i32 %value, %old
  br i1 %changed, label %yes, label %pause
pause:
  call void $PAUSE
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 64
  br i1 %more, label %look, label %timeout
timeout:
  %time = call i64 @now()
  %spent = sub i64 %time, %start
  %early = icmp ult i64 %spent, 30000
  br i1 %early, label %round, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal void @sleep(ptr %word, i32 %old, i32 %mask) nounwind { ; FUTEX_WAIT_BITSET | PRIVATE
  %rc = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %word, i32 137, i32 %old, ptr null, ptr null, i32 %mask)
  ret void
}

define internal void @wake(ptr %word, i32 %count, i32 %mask) nounwind { ; FUTEX_WAKE_BITSET | PRIVATE
  %rc = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %word, i32 138, i32 %count, ptr null, ptr null, i32 %mask)
  ret void
}

; Claim and run chunks until none is left for thread number %id.
define internal void @work(ptr %pool, i64 %id) nounwind {
entry:
  %ticket.p = getelementptr %Pool, ptr %pool, i32 0, i32 9
  %body.p = getelementptr %Pool, ptr %pool, i32 0, i32 11
  %context.p = getelementptr %Pool, ptr %pool, i32 0, i32 12
  %extent.p = getelementptr %Pool, ptr %pool, i32 0, i32 13
  %chunks.p = getelementptr %Pool, ptr %pool, i32 0, i32 14
  %left.p = getelementptr %Pool, ptr %pool, i32 0, i32 16
  %waiting.p = getelementptr %Pool, ptr %pool, i32 0, i32 17
  br label %claim
claim:
  %ticket = load atomic i64, ptr %ticket.p acquire, align 8
  %unclaimed = and i64 %ticket, 65535
  %none = icmp eq i64 %unclaimed, 0
  br i1 %none, label %out, label %mine
mine:
  %shifted = lshr i64 %ticket, 16
  %width = and i64 %shifted, 65535
  %member = icmp ult i64 %id, %width
  br i1 %member, label %swap, label %out
swap:
  %less = sub i64 %ticket, 1
  %pair = cmpxchg ptr %ticket.p, i64 %ticket, i64 %less acq_rel acquire
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %run, label %claim
run: ; from here the region cannot end before `left` is counted down, so its fields stand still
  %body = load ptr, ptr %body.p
  %context = load ptr, ptr %context.p
  %extent = load i64, ptr %extent.p
  %chunks = load i64, ptr %chunks.p
  %index = sub i64 %chunks, %unclaimed
  %index1 = add i64 %index, 1
  %lo = mul i64 %index, %extent
  %hi = mul i64 %index1, %extent
  %begin = udiv i64 %lo, %chunks
  %end = udiv i64 %hi, %chunks
  call void %body(i64 %begin, i64 %end, ptr %context)
  %before = atomicrmw sub ptr %left.p, i32 1 seq_cst
  %last = icmp eq i32 %before, 1
  br i1 %last, label %finished, label %claim
finished:
  %waiting = load atomic i32, ptr %waiting.p seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %notify, label %claim
notify:
  call void @wake(ptr %left.p, i32 1, i32 -1)
  br label %claim
out:
  ret void
}

; A worker's bit in the wake-up mask; numbers above 31 share the last.
define internal i32 @bit(i64 %id) nounwind {
  %high = icmp ugt i64 %id, 31
  %place = select i1 %high, i64 31, i64 %id
  %place32 = trunc i64 %place to i32
  %bit = shl i32 1, %place32
  ret i32 %bit
}

define internal ptr @worker(ptr %start) nounwind {
entry:
  %pool = load ptr, ptr %start
  %id.p = getelementptr %Start, ptr %start, i32 0, i32 1
  %id = load i64, ptr %id.p
  call void @free(ptr %start)
  %key = load i32, ptr @key
  %set = call i32 @pthread_setspecific(i32 %key, ptr inttoptr (i64 1 to ptr)) ; nested loops run serially
  %mask = call i32 @bit(i64 %id)
  %generation.p = getelementptr %Pool, ptr %pool, i32 0, i32 5
  %sleepers.p = getelementptr %Pool, ptr %pool, i32 0, i32 6
  %stop.p = getelementptr %Pool, ptr %pool, i32 0, i32 7
  br label %top
top:
  %seen = phi i32 [0, %entry], [%current, %turn]
  %quick = call i1 @spin(ptr %generation.p, i32 %seen)
  br i1 %quick, label %go, label %bed
bed:
  %s0 = atomicrmw add ptr %sleepers.p, i32 1 seq_cst
  br label %doze
doze:
  call void @sleep(ptr %generation.p, i32 %seen, i32 %mask)
  %g = load atomic i32, ptr %generation.p seq_cst, align 4
  %same = icmp eq i32 %g, %seen
  br i1 %same, label %doze, label %up
up:
  %s1 = atomicrmw sub ptr %sleepers.p, i32 1 seq_cst
  br label %go
go:
  %current = load atomic i32, ptr %generation.p acquire, align 4
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %over = icmp ne i32 %stop, 0
  br i1 %over, label %exit, label %turn
turn:
  call void @work(ptr %pool, i64 %id)
  br label %top
exit:
  ret ptr null
}

; Return this process's pool, made at first use and anew in the child of a fork, where the workers do not exist.
define internal ptr @current_pool() nounwind {
entry:
  %pid = call i32 @getpid()
  %old = load atomic ptr, ptr @pool acquire, align 8
  %first = icmp eq ptr %old, null
  br i1 %first, label %make, label %check
check:
  %owner = load i32, ptr %old
  %ours = icmp eq i32 %owner, %pid
  br i1 %ours, label %keep, label %make
keep:
  ret ptr %old
make:
  %size = ptrtoint ptr getelementptr (%Pool, ptr null, i32 1) to i64
  %new = call ptr @aligned_alloc(i64 64, i64 %size)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %nothing, label %fill
fill:
  call void @llvm.memset.p0.i64(ptr %new, i8 0, i64 %size, i1 false)
  store i32 %pid, ptr %new
  %pair = cmpxchg ptr @pool, ptr %old, ptr %new seq_cst seq_cst
  %won = extractvalue { ptr, i1 } %pair, 1
  br i1 %won, label %made, label %lost
made:
  ret ptr %new
lost:
  call void @free(ptr %new)
  %theirs = extractvalue { ptr, i1 } %pair, 0
  ret ptr %theirs
nothing:
  ret ptr null
}

; Start workers until there are %wanted, with all signals blocked: they belong to the program's own threads.
define internal void @grow(ptr %pool, i64 %wanted) nounwind {
entry:
  %workers.p = getelementptr %Pool, ptr %pool, i32 0, i32 2
  %full.p = getelementptr %Pool, ptr %pool, i32 0, i32 3
  %have0 = load i32, ptr %workers.p
  %have = zext i32 %have0 to i64
  %full = load i32, ptr %full.p
  %may = icmp eq i32 %full, 0
  %few = icmp ult i64 %have, %wanted
  %need = and i1 %may, %few
  br i1 %need, label %begin, label %out
begin:
  %all = alloca [128 x i8], align 8
  %saved = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  %m0 = call i32 @pthread_sigmask(i32 $SIG_SETMASK, ptr %all, ptr %saved)
  br label %next
next:
  %n = phi i64 [%have, %begin], [%n1, %started]
  %more = icmp ult i64 %n, %wanted
  br i1 %more, label %start, label %done
start:
  %n1 = add i64 %n, 1
  %note = call ptr @malloc(i64 16)
  store ptr %pool, ptr %note
  %id.p = getelementptr %Start, ptr %note, i32 0, i32 1
  store i64 %n1, ptr %id.p
  %thread.p = getelementptr %Pool, ptr %pool, i32 0, i32 19, i64 %n
  %rc = call i32 @pthread_create(ptr %thread.p, ptr null, ptr @worker, ptr %note)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %started, label %refused
started:
  %n32 = trunc i64 %n1 to i32
  store i32 %n32, ptr %workers.p
  br label %next
refused: ; the system allows no more threads: the region still completes, with those there are
  call void @free(ptr %note)
  store i32 1, ptr %full.p
  br label %done
done:
  %m1 = call i32 @pthread_sigmask(i32 $SIG_SETMASK, ptr %saved, ptr null)
  br label %out
out:
  ret void
}

; Wait until every claimed chunk is finished: spin, then sleep on the count.
define internal void @await(ptr %pool) nounwind {
entry:
  %left.p = getelementptr %Pool, ptr %pool, i32 0, i32 16
  %waiting.p = getelementptr %Pool, ptr %pool, i32 0, i32 17
  br label %look
look:
  %left = load atomic i32, ptr %left.p seq_cst, align 4
  %none = icmp eq i32 %left, 0
  br i1 %none, label %done, label %hope
hope:
  %changed = call i1 @spin(ptr %left.p, i32 %left)
  br i1 %changed, label %look, label %rest
rest:
  store atomic i32 1, ptr %waiting.p seq_cst, align 4
  call void @sleep(ptr %left.p, i32 %left, i32 -1)
  br label %look
done:
  store atomic i32 0, ptr %waiting.p seq_cst, align 4
  ret void
}

; Run one region on the pool, which the caller holds.
define internal void @region(ptr %pool, ptr %body, ptr %context, i64 %extent, i64 %width) nounwind {
entry:
  %most = mul i64 %width, 4 ; four chunks a thread even out a thread that the system takes away
  %few = icmp ult i64 %extent, %most
  %chunks = select i1 %few, i64 %extent, i64 %most
  %helpers = sub i64 %width, 1
  call void @grow(ptr %pool, i64 %helpers)
  %body.p = getelementptr %Pool, ptr %pool, i32 0, i32 11
  %context.p = getelementptr %Pool, ptr %pool, i32 0, i32 12
  %extent.p = getelementptr %Pool, ptr %pool, i32 0, i32 13
  %chunks.p = getelementptr %Pool, ptr %pool, i32 0, i32 14
  %left.p = getelementptr %Pool, ptr %pool, i32 0, i32 16
  store ptr %body, ptr %body.p
  store ptr %context, ptr %context.p
  store i64 %extent, ptr %extent.p
  store i64 %chunks, ptr %chunks.p
  %chunks32 = trunc i64 %chunks to i32
  store atomic i32 %chunks32, ptr %left.p seq_cst, align 4
  %ticket.p = getelementptr %Pool, ptr %pool, i32 0, i32 9
  %generation.p = getelementptr %Pool, ptr %pool, i32 0, i32 5
  %old = load i64, ptr %ticket.p
  %number = lshr i64 %old, 32
  %number1 = add i64 %number, 1
  %high = shl i64 %number1, 32
  %middle = shl i64 %width, 16
  %low = or i64 %middle, %chunks
  %ticket = or i64 %high, %low
  store atomic i64 %ticket, ptr %ticket.p seq_cst, align 8
  %g = atomicrmw add ptr %generation.p, i32 1 seq_cst
  %sleepers.p = getelementptr %Pool, ptr %pool, i32 0, i32 6
  %sleepers = load atomic i32, ptr %sleepers.p seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %call, label %join
call:
  %fewer = icmp ult i64 %chunks, %width
  %hands = select i1 %fewer, i64 %chunks, i64 %width
  %count = trunc i64 %hands to i32
  %others = sub i32 %count, 1
  %beyond = call i32 @bit(i64 %width)
  %below = sub i32 %beyond, 1
  %wide = icmp ugt i64 %width, 31
  %mask = select i1 %wide, i32 -1, i32 %below
  call void @wake(ptr %generation.p, i32 %others, i32 %mask)
  br label %join
join:
  call void @work(ptr %pool, i64 0)
  call void @await(ptr %pool)
  ret void
}

define void @nn_parallel(ptr %body, ptr %context, i64 %extent) nounwind {
entry:
  %key = load i32, ptr @key
  %allowed = call ptr @pthread_getspecific(i32 %key)
  %width = ptrtoint ptr %allowed to i64
  %several = icmp ugt i64 %width, 1
  %worth = icmp sgt i64 %extent, 1
  %split = and i1 %several, %worth
  br i1 %split, label %try, label %serial
try:
  %pool = load atomic ptr, ptr @pool acquire, align 8
  %busy.p = getelementptr %Pool, ptr %pool, i32 0, i32 1
  %pair = cmpxchg ptr %busy.p, i32 0, i32 1 seq_cst seq_cst
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %parallel, label %serial
parallel:
  %s0 = call i32 @pthread_setspecific(i32 %key, ptr inttoptr (i64 1 to ptr))
  call void @region(ptr %pool, ptr %body, ptr %context, i64 %extent, i64 %width)
  store atomic i32 0, ptr %busy.p seq_cst, align 4
  %s1 = call i32 @pthread_setspecific(i32 %key, ptr %allowed)
  ret void
serial:
  %some = icmp sgt i64 %extent, 0
  br i1 %some, label %whole, label %out
whole:
  call void %body(i64 0, i64 %extent, ptr %context)
  br label %out
out:
  ret void
}

; Call a compiled model's entry with at most %threads threads (256 is the most a pool has).
define void @nn_call(ptr %main, ptr %inputs, ptr %outputs, ptr %weights, ptr %arena, i64 %threads) nounwind {
entry:
  %many = icmp ugt i64 %threads, 256
  %capped = select i1 %many, i64 256, i64 %threads
  %several = icmp ugt i64 %capped, 1
  br i1 %several, label %pool, label %call
pool:
  %pool.now = call ptr @current_pool()
  %none = icmp eq ptr %pool.now, null
  %width.pool = select i1 %none, i64 1, i64 %capped
  br label %call
call:
  %width = phi i64 [1, %entry], [%width.pool, %pool]
  %key = load i32, ptr @key
  %outer = call ptr @pthread_getspecific(i32 %key)
  %inner = inttoptr i64 %width to ptr
  %s0 = call i32 @pthread_setspecific(i32 %key, ptr %inner)
  call void %main(ptr %inputs, ptr %outputs, ptr %weights, ptr %arena)
  %s1 = call i32 @pthread_setspecific(i32 %key, ptr %outer)
  ret void
}

; End the workers; later regions run serially. In the child of a fork there is nobody to end.
define void @nn_pool_stop() nounwind {
entry:
  %pool = load atomic ptr, ptr @pool acquire, align 8
  %none = icmp eq ptr %pool, null
  br i1 %none, label %out, label %check
check:
  %owner = load i32, ptr %pool
  %pid = call i32 @getpid()
  %ours = icmp eq i32 %owner, %pid
  br i1 %ours, label %seize, label %out
seize: ; a region that is still running ends soon; one that never does must not keep the process from ending
  %try = phi i32 [0, %check], [%try1, %again]
  %busy.p = getelementptr %Pool, ptr %pool, i32 0, i32 1
  %pair = cmpxchg ptr %busy.p, i32 0, i32 1 seq_cst seq_cst
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %stop, label %again
again:
  %y = call i32 @sched_yield()
  %try1 = add i32 %try, 1
  %over = icmp ugt i32 %try1, 1000000
  br i1 %over, label %out, label %seize
stop:
  %stop.p = getelementptr %Pool, ptr %pool, i32 0, i32 7
  store atomic i32 1, ptr %stop.p seq_cst, align 4
  %generation.p = getelementptr %Pool, ptr %pool, i32 0, i32 5
  %g = atomicrmw add ptr %generation.p, i32 1 seq_cst
  call void @wake(ptr %generation.p, i32 2147483647, i32 -1)
  %workers.p = getelementptr %Pool, ptr %pool, i32 0, i32 2
  %workers32 = load i32, ptr %workers.p
  %workers = zext i32 %workers32 to i64
  br label %next
next:
  %n = phi i64 [0, %stop], [%n1, %join]
  %more = icmp ult i64 %n, %workers
  br i1 %more, label %join, label %out
join:
  %thread.p = getelementptr %Pool, ptr %pool, i32 0, i32 19, i64 %n
  %thread = load i64, ptr %thread.p
  %rc = call i32 @pthread_join(i64 %thread, ptr null)
  %n1 = add i64 %n, 1
  br label %next
out:
  ret void
}

; Where timed code adds up its time; null for nowhere. One timed model runs at a time.
define void @nn_profile_into(ptr %table, i64 %count) nounwind {
  store ptr %table, ptr @profile.table
  store i64 %count, ptr @profile.count
  ret void
}

; Called by timed code with -1 at its start and with a kernel's number after each call of that kernel.
define void @nn_profile(i64 %kernel) nounwind {
entry:
  %time = call i64 @now()
  %last = load i64, ptr @profile.last
  store i64 %time, ptr @profile.last
  %table = load ptr, ptr @profile.table
  %on = icmp ne ptr %table, null
  %count = load i64, ptr @profile.count
  %known = icmp ult i64 %kernel, %count
  %add = and i1 %on, %known
  br i1 %add, label %count.in, label %out
count.in:
  %spent = sub i64 %time, %last
  %place = getelementptr i64, ptr %table, i64 %kernel
  %before = load i64, ptr %place
  %sum = add i64 %before, %spent
  store i64 %sum, ptr %place
  br label %out
out:
  ret void
}
