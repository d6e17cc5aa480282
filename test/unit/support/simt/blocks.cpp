// Blocks of threads: one fiber a thread, barriers, meetings of warps; launches of a grid.
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <vector>

#include "faults.h"
#include "fibers.h"
#include "memory.h"
#include "runtime.h"

// Between these lie the static arrays in shared memory, if there are any.
extern "C" __attribute__((weak, visibility("hidden"))) char __start_simt_shared[];
extern "C" __attribute__((weak, visibility("hidden"))) char __stop_simt_shared[];

namespace simt {

Place place;
Index block_size, grid_size;

namespace {

constexpr size_t kStack = 256 * 1024;
constexpr size_t kGuard = 4096;
constexpr unsigned kMostThreads = 1024;
constexpr size_t kMostShared = 256 * 1024;

enum class State : uint8_t { kReady, kBarrier, kMeeting, kEnded };

struct Thread {
  Fiber fiber;
  State state;
  Place place;
  int line, column;  // of the call in which it waits
  // of a meeting
  uint64_t value;
  uint32_t mask;
  const char* what;
  bool orders_memory;
  // of a barrier
  bool orders_shared, orders_global;
};

struct Warp {
  unsigned begin, count;
  uint64_t values[kLanes];

  uint32_t existing() const { return count == kLanes ? ~0u : (1u << count) - 1; }
};

std::vector<Thread> threads;
std::vector<Warp> warps;
Thread* running;
bool backwards;
void (*kernel)(void**);
void** arguments;
char* stacks;
unsigned stack_count;
char *shared_end, *dynamic;  // up to a page that nobody may touch
char message[1024];
sigjmp_buf landing;

Thread& lane_of(const Warp& warp, unsigned lane) { return threads[warp.begin + lane]; }

void entry() {
  kernel(arguments);
  running->state = State::kEnded;
  running->fiber.leave();
  abort();  // nobody enters a thread that has ended
}

void run(Thread& thread) {
  running = &thread;
  place = thread.place;
  thread.fiber.enter();
}

void wait_in(State state) {
  running->state = state;
  running->fiber.leave();
}

void run_ready(Warp& warp) {
  for (unsigned k = 0; k < warp.count; ++k) {
    Thread& thread = lane_of(warp, backwards ? warp.count - 1 - k : k);
    if (thread.state == State::kReady) run(thread);
  }
}

uint32_t lanes_in(const Warp& warp, State state) {
  uint32_t lanes = 0;
  for (unsigned k = 0; k < warp.count; ++k)
    if (lane_of(warp, k).state == state) lanes |= 1u << k;
  return lanes;
}

// Return a lane of the mask that is not in the same call, or -1.
int missing_lane(const Warp& warp, const Thread& thread) {
  for (unsigned k = 0; k < warp.count; ++k) {
    const Thread& other = lane_of(warp, k);
    bool here = other.state == State::kMeeting && other.mask == thread.mask &&
                other.what == thread.what && other.line == thread.line;
    if (thread.mask >> k & 1 && !here) return int(k);
  }
  return -1;
}

[[noreturn]] void fail_to_meet(const Warp& warp, const Thread& thread) {
  int lane = missing_lane(warp, thread);
  const Thread& other = lane_of(warp, unsigned(lane));
  if (other.state == State::kEnded)
    fail("line %d: %s names lane %d, which has ended", thread.line, thread.what, lane);
  if (other.state == State::kBarrier)
    fail("line %d: %s waits for lane %d, which waits at the barrier of line %d", thread.line,
         thread.what, lane, other.line);
  fail("line %d: %s waits for lane %d, which waits in %s of line %d", thread.line, thread.what,
       lane, other.what, other.line);
}

// Let lanes go on that have met; return whether there are any.
bool meet_lanes(Warp& warp) {
  uint32_t waiting = lanes_in(warp, State::kMeeting);
  if (!waiting) return false;
  uint32_t complete = 0;
  bool orders_memory = false;
  for (unsigned k = 0; k < warp.count; ++k) {
    if (!(waiting >> k & 1) || missing_lane(warp, lane_of(warp, k)) >= 0) continue;
    complete |= 1u << k;
    warp.values[k] = lane_of(warp, k).value;
    orders_memory |= lane_of(warp, k).orders_memory;
  }
  if (!complete) fail_to_meet(warp, lane_of(warp, unsigned(__builtin_ctz(waiting))));
  for (unsigned k = 0; k < warp.count; ++k)
    if (complete >> k & 1) lane_of(warp, k).state = State::kReady;
  if (orders_memory) new_meeting(warp.begin / kLanes);
  return true;
}

// Let all threads pass the barrier at which they wait; return false if all have ended.
bool pass_barrier() {
  Thread *ended = nullptr, *waiting = nullptr, *elsewhere = nullptr;
  for (Thread& thread : threads) {
    if (thread.state == State::kEnded) ended = &thread;
    else if (!waiting) waiting = &thread;
    else if (waiting->line != thread.line || waiting->column != thread.column) elsewhere = &thread;
  }
  if (!waiting) return false;
  if (ended)
    fail("thread %s waits at the barrier of line %d, thread %s has ended",
         Text(waiting->place.thread).text, waiting->line, Text(ended->place.thread).text);
  if (elsewhere)
    fail("thread %s waits at the barrier of line %d, thread %s at that of line %d",
         Text(waiting->place.thread).text, waiting->line, Text(elsewhere->place.thread).text,
         elsewhere->line);
  for (Thread& thread : threads) thread.state = State::kReady;
  new_interval(waiting->orders_shared, waiting->orders_global);
  return true;
}

// What nobody wrote is a NaN in one order, a large number in the other.
void poison_shared() {
  int byte = backwards ? 0x7f : 0xff;
  memset(dynamic, byte, size_t(shared_end - dynamic));
  if (__start_simt_shared)
    memset(__start_simt_shared, byte, size_t(__stop_simt_shared - __start_simt_shared));
}

void run_block(Index block) {
  poison_shared();
  new_block();
  for (unsigned k = 0; k < threads.size(); ++k) {
    threads[k].state = State::kReady;
    threads[k].place.block = block;
    threads[k].fiber.start(stacks + k * (kStack + kGuard) + kGuard, kStack, entry);
  }
  do {
    for (size_t k = 0; k < warps.size(); ++k) {
      Warp& warp = warps[backwards ? warps.size() - 1 - k : k];
      do run_ready(warp);
      while (meet_lanes(warp));
    }
  } while (pass_barrier());
}

void run_grid() {
  unsigned blocks = grid_size.x * grid_size.y * grid_size.z;
  for (unsigned k = 0; k < blocks; ++k) {
    unsigned at = backwards ? blocks - 1 - k : k;
    run_block({at % grid_size.x, at / grid_size.x % grid_size.y,
               at / (grid_size.x * grid_size.y)});
  }
}

// Systems allow a process some 65,000 mappings, and there may be many libraries like this.
void make_stacks(unsigned count) {
  if (count <= stack_count) return;
  free_stacks();
  size_t each = kStack + kGuard;
  stacks = static_cast<char*>(map_memory(count * each));
  stack_count = count;
  for (unsigned k = 0; k < count; ++k) mprotect(stacks + k * each, kGuard, PROT_NONE);
}

void make_shared_memory() {
  shared_end = static_cast<char*>(map_memory(kMostShared + kGuard)) + kMostShared;
  mprotect(shared_end, kGuard, PROT_NONE);
}

void make_threads() {
  unsigned count = block_size.x * block_size.y * block_size.z;
  if (count == 0 || count > kMostThreads) fail("a block has 1 to %u threads", kMostThreads);
  make_stacks(count);
  threads.resize(count);
  warps.clear();
  for (unsigned k = 0; k < count; ++k) {
    Index at{k % block_size.x, k / block_size.x % block_size.y,
             k / (block_size.x * block_size.y)};
    threads[k].place = {at, {}, k};
    if (k % kLanes == 0) warps.push_back({k, count - k < kLanes ? count - k : kLanes, {}});
  }
}

void make_shared(size_t bytes) {
  if (!shared_end) make_shared_memory();
  if (bytes > kMostShared) fail("a block has %zu bytes of shared memory at most", kMostShared);
  dynamic = shared_end - (bytes + 15) / 16 * 16;
  forget_shared();
  watch_shared(dynamic, bytes, "dynamic shared memory");
  if (__start_simt_shared)
    watch_shared(__start_simt_shared, size_t(__stop_simt_shared - __start_simt_shared),
                 "shared memory");
}

[[noreturn]] void land(const char* prefix, const char* format, va_list values) {
  int used = snprintf(message, sizeof message, "%s", prefix);
  vsnprintf(message + used, sizeof message - size_t(used), format, values);
  siglongjmp(landing, 1);
}

}  // namespace

void free_stacks() {
  if (stacks) munmap(stacks, stack_count * (kStack + kGuard));
  stacks = nullptr;
  stack_count = 0;
}

void* map_memory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) return memory;
  perror("mmap");
  abort();
}

char* dynamic_shared() { return dynamic; }

void barrier(int line, int column, bool orders_shared, bool orders_global) {
  running->orders_shared = orders_shared;
  running->orders_global = orders_global;
  running->line = line;
  running->column = column;
  wait_in(State::kBarrier);
}

Meeting meet(uint64_t value, uint32_t mask, const char* what, int line, bool orders_memory) {
  Warp& warp = warps[running->place.linear / kLanes];
  running->line = line;
  running->value = value;
  running->mask = mask;
  running->what = what;
  running->orders_memory = orders_memory;
  if (!(mask >> lane() & 1)) fail_here("line %d: %s leaves out its own lane", line, what);
  wait_in(State::kMeeting);
  return {warp.values, mask & warp.existing()};
}

void fail(const char* format, ...) {
  char prefix[96];
  snprintf(prefix, sizeof prefix, "block %s: ", Text(place.block).text);
  va_list values;
  va_start(values, format);
  land(prefix, format, values);
}

void fail_here(const char* format, ...) {
  char prefix[96];
  snprintf(prefix, sizeof prefix, "block %s, thread %s: ", Text(place.block).text,
           Text(place.thread).text);
  va_list values;
  va_start(values, format);
  land(prefix, format, values);
}

}  // namespace simt

struct SimtLaunch {
  uint32_t grid[3], block[3];
  uint64_t shared_bytes;
  int32_t backwards, watched;
};

// Run a kernel on a grid; return a message if it did what no kernel may do.
SIMT_PUBLIC const char* simt_launch(void (*kernel)(void**), void** arguments, const SimtLaunch* launch) {
  using namespace simt;
  simt::kernel = kernel;
  simt::arguments = arguments;
  backwards = launch->backwards;
  watching = launch->watched;
  place = {};
  fault_site = nullptr;
  grid_size = {launch->grid[0], launch->grid[1], launch->grid[2]};
  block_size = {launch->block[0], launch->block[1], launch->block[2]};
  FaultHandlers handlers;
  if (sigsetjmp(landing, 1)) return watching = false, message;
  make_threads();
  make_shared(launch->shared_bytes);
  new_launch();
  run_grid();
  watching = false;
  return nullptr;
}
