// The NUMA nodes of this host, as the kernel numbers them.
#pragma once

#include "common/base/bitmap.hpp"

namespace sluice::stepd {

// A host that knows of none has node 0.
[[nodiscard]] Bitmap numa_nodes();
[[nodiscard]] Bitmap cpus_of_numa_node(size_t node);

}  // namespace sluice::stepd
