// Arrays of a launch between pages that nobody may touch; the shadow in which accesses are noted.
#include "memory.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "faults.h"
#include "runtime.h"

namespace simt {

bool watching;

namespace {

// Who reads: nobody, a thread (its number), several of a warp, several of a block.
constexpr uint16_t kNobody = 0xffff, kBlock = 0xfffe, kWarp = 0x8000;

struct Cell {
  uint32_t interval;  // in which it was last accessed
  uint16_t meeting;   // of the warp, by then
  uint16_t writer, reader;
  bool atomic;         // all those accesses were atomic
  // Of the launch so far: blocks by number from 1 on, 0 for none, ~0 for several.
  uint32_t writing_block, reading_block;
  bool atomic_blocks;
};

constexpr uint32_t kSeveral = ~0u;

struct Region {
  char* begin;
  size_t bytes;
  std::string name;
  bool shared;
  void* mapping;  // of arrays of a launch
  size_t mapped;
  bool constant;  // pages that nobody may write: there are no races
  std::vector<Cell> cells;

  bool holds(const char* at) const { return begin <= at && at < begin + bytes; }
};

struct Part {
  const char* begin;
  size_t bytes;

  bool holds(const char* at, size_t size) const {
    return begin <= at && at + size <= begin + bytes;
  }
};

std::vector<Region> regions;
Region* last_found;
std::vector<Part> given;  // the parts of arrays that the kernel has as arguments
uint32_t launch_interval, last_interval = 1;
uint32_t shared_interval, global_interval;  // between barriers that order these
uint32_t block_number;
uint16_t meetings[64];

const Cell kFresh{0, 0, kNobody, kNobody, true, 0, 0, true};

Region* find_region(const void* address) {
  auto* at = static_cast<const char*>(address);
  if (last_found && last_found->holds(at)) return last_found;
  for (Region& region : regions)
    if (region.holds(at)) return last_found = &region;
  return nullptr;
}

bool same_warp(uint16_t who, unsigned warp) {
  return who == kNobody || who == (kWarp | warp) || (who < kWarp && who / kLanes == warp);
}

// Forget accesses that a barrier, or a meeting of their warp, has ordered before this one.
void forget_ordered(Cell& cell, unsigned warp, uint32_t interval) {
  if (cell.interval < launch_interval) cell = kFresh;
  bool ordered = cell.interval != interval ||
                 (cell.meeting != meetings[warp] && same_warp(cell.writer, warp) &&
                  same_warp(cell.reader, warp));
  if (!ordered) return;
  cell.writer = cell.reader = kNobody;
  cell.atomic = true;
  cell.interval = interval;
  cell.meeting = meetings[warp];
}

[[noreturn]] void race(const Region& region, size_t offset, bool write, uint16_t who,
                       const char* did) {
  Text thread({who % block_size.x, who / block_size.x % block_size.y,
               who / (block_size.x * block_size.y)});
  bool one = who < kWarp;
  fail_here("race: it %s byte %zu of %s, %s%s %s it, and no barrier is in between",
            write ? "writes" : "reads", offset, region.name.c_str(),
            one ? "thread " : "several threads", one ? thread.text : "", did);
}

void note_in_block(Region& region, size_t offset, bool write, bool atomic) {
  Cell& cell = region.cells[offset];
  auto self = uint16_t(place.linear);
  unsigned warp = self / kLanes;
  forget_ordered(cell, warp, region.shared ? shared_interval : global_interval);
  bool both_atomic = atomic && cell.atomic;
  if (cell.writer != kNobody && cell.writer != self && !both_atomic)
    race(region, offset, write, cell.writer, "wrote");
  if (write && cell.reader != kNobody && cell.reader != self && !both_atomic)
    race(region, offset, write, cell.reader, "read");
  cell.atomic &= atomic;
  if (write)
    cell.writer = self;
  else if (cell.reader == kNobody)
    cell.reader = self;
  else if (cell.reader != self)
    cell.reader = same_warp(cell.reader, warp) ? uint16_t(kWarp | warp) : kBlock;
}

// Blocks of a launch never wait for each other.
void note_in_grid(Region& region, size_t offset, bool write, bool atomic) {
  Cell& cell = region.cells[offset];
  bool both_atomic = atomic && cell.atomic_blocks;
  auto foreign = [](uint32_t block) { return block && block != block_number; };
  if (!both_atomic && (foreign(cell.writing_block) || (write && foreign(cell.reading_block))))
    fail_here("race: it %s byte %zu of %s, and another block %s it", write ? "writes" : "reads",
              offset, region.name.c_str(), foreign(cell.writing_block) ? "writes" : "reads");
  cell.atomic_blocks &= atomic;
  uint32_t& block = write ? cell.writing_block : cell.reading_block;
  block = foreign(block) ? kSeveral : block_number;
}

void note_written(Region& region, size_t offset, bool write) {
  Cell& cell = region.cells[offset];
  if (write)
    cell.writing_block = block_number;
  else if (cell.writing_block != block_number)
    fail_here("it reads byte %zu of %s, which no thread has written yet", offset,
              region.name.c_str());
}

// A kernel may touch what it is given of an array, and nothing else.
void check_given(const Region& region, const char* at, size_t bytes, bool write) {
  if (region.shared) return;
  for (const Part& part : given)
    if (part.holds(at, bytes)) return;
  fail_here("out of bounds: it %s byte %td of %s, which is in none of its arguments",
            write ? "writes" : "reads", at - region.begin, region.name.c_str());
}

void note(const void* site, const void* address, size_t bytes, bool write, bool atomic = false) {
  if (!watching) return;
  Region* region = find_region(address);
  if (!region) return;
  fault_site = site;
  check_given(*region, static_cast<const char*>(address), bytes, write);
  auto offset = size_t(static_cast<const char*>(address) - region->begin);
  if (region->bytes - offset < bytes) fail_here("out of bounds: %s", describe(address));
  if (region->constant && write)
    fail_here("it writes byte %zu of %s, which is constant", offset, region->name.c_str());
  if (region->constant) bytes = 0;
  for (size_t k = offset; k < offset + bytes; ++k) {
    note_in_block(*region, k, write, atomic);
    if (region->shared)
      note_written(*region, k, write);
    else
      note_in_grid(*region, k, write, atomic);
  }
  fault_site = nullptr;
}

size_t page() { return size_t(sysconf(_SC_PAGESIZE)); }

}  // namespace

void watch_shared(char* begin, size_t bytes, const char* name) {
  if (!bytes) return;
  regions.push_back({begin, bytes, name, true, nullptr, 0, false, {}});
  if (watching) regions.back().cells.assign(bytes, kFresh);
}

void forget_shared() {
  last_found = nullptr;
  std::erase_if(regions, [](const Region& region) { return region.shared; });
}

void new_launch() {
  launch_interval = ++last_interval;
  block_number = 0;
  for (Region& region : regions)
    if (watching && !region.constant && region.cells.empty())
      region.cells.assign(region.bytes, kFresh);
}

void new_block() {
  new_interval(true, true);
  ++block_number;
}

void new_interval(bool shared, bool global) {
  ++last_interval;
  if (shared) shared_interval = last_interval;
  if (global) global_interval = last_interval;
}

void new_meeting(unsigned warp) { ++meetings[warp]; }

void atomic_access(const void* address, size_t bytes) {
  note(__builtin_return_address(0), address, bytes, true, true);
}

const char* describe(const void* address) {
  static char text[256];
  auto* at = static_cast<const char*>(address);
  const Region* nearest = nullptr;
  ptrdiff_t distance = 0;
  for (const Region& region : regions) {
    ptrdiff_t away = at < region.begin ? region.begin - at
                     : at >= region.begin + region.bytes ? at - (region.begin + region.bytes) + 1
                                                         : 0;
    if (nearest && away >= distance) continue;
    nearest = &region;
    distance = away;
  }
  if (!nearest || distance > 1 << 24) {
    snprintf(text, sizeof text, "an address far from all buffers");
  } else {
    snprintf(text, sizeof text, "byte %td of %s, which has %zu", at - nearest->begin,
             nearest->name.c_str(), nearest->bytes);
  }
  return text;
}

}  // namespace simt

// Return memory for an array, right before or right behind a page that nobody may touch.
SIMT_PUBLIC void* simt_array(size_t bytes, const char* name, int at_end) {
  size_t page = simt::page(), inside = (bytes + page) / page * page;
  auto* mapping = static_cast<char*>(simt::map_memory(inside + 2 * page));
  mprotect(mapping, page, PROT_NONE);
  mprotect(mapping + page + inside, page, PROT_NONE);
  char* begin = mapping + page;
  if (at_end) begin += (inside - bytes) / 16 * 16;
  simt::last_found = nullptr;
  simt::regions.push_back({begin, bytes, name, false, mapping, inside + 2 * page, false, {}});
  return begin;
}

// Tell what parts of arrays the next kernel has as arguments.
SIMT_PUBLIC void simt_give(size_t count, const void* const* begins, const size_t* bytes) {
  simt::given.clear();
  for (size_t k = 0; k < count; ++k)
    simt::given.push_back({static_cast<const char*>(begins[k]), bytes[k]});
}

// Nobody may write an array from now on.
SIMT_PUBLIC void simt_protect(void* array) {
  for (simt::Region& region : simt::regions) {
    if (region.begin != array) continue;
    region.constant = true;
    mprotect(static_cast<char*>(region.mapping) + simt::page(),
             region.mapped - 2 * simt::page(), PROT_READ);
  }
}

// Give back all memory of runs.
SIMT_PUBLIC void simt_free_arrays() {
  simt::free_stacks();
  simt::last_found = nullptr;
  for (simt::Region& region : simt::regions) {
    if (region.mapping) munmap(region.mapping, region.mapped);
  }
  simt::regions.clear();
}

// What clang's -fsanitize=thread calls at each access; its own runtime is not linked.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
#define SIMT_SITE __builtin_return_address(0)
#define SIMT_ACCESS(bytes)                                                                    \
  void __tsan_read##bytes(void* at) { simt::note(SIMT_SITE, at, bytes, false); }              \
  void __tsan_write##bytes(void* at) { simt::note(SIMT_SITE, at, bytes, true); }              \
  void __tsan_unaligned_read##bytes(void* at) { simt::note(SIMT_SITE, at, bytes, false); }    \
  void __tsan_unaligned_write##bytes(void* at) { simt::note(SIMT_SITE, at, bytes, true); }
SIMT_ACCESS(1) SIMT_ACCESS(2) SIMT_ACCESS(4) SIMT_ACCESS(8) SIMT_ACCESS(16)
void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  simt::note(SIMT_SITE, from, bytes, false);
  simt::note(SIMT_SITE, to, bytes, true);
  return memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  simt::note(SIMT_SITE, from, bytes, false);
  simt::note(SIMT_SITE, to, bytes, true);
  return memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int byte, size_t bytes) {
  simt::note(SIMT_SITE, to, bytes, true);
  return memset(to, byte, bytes);
}

}  // extern "C"
