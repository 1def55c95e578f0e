// Names of threads, as top -H, ps -L and debuggers show them.
#pragma once

#include <pthread.h>

namespace sluice {

// Of the calling thread; at most 15 characters.
inline void name_thread(const char* name) { (void)::pthread_setname_np(::pthread_self(), name); }

}  // namespace sluice
