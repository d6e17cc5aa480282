// Watched memory: who of a launch read and wrote each byte, and whether barriers lie in between.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

extern bool watching;

// Return new pages; there is no program without.
void* map_memory(size_t bytes);
void free_stacks();

void watch_shared(char* begin, size_t bytes, const char* name);
void forget_shared();

// Accesses before and after these are ordered: of all threads, of a block, of a warp's lanes.
void new_launch();
void new_block();
void new_interval(bool shared, bool global);
void new_meeting(unsigned warp);

}  // namespace simt
