#include "stepd/binding/cpu_choice.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "common/syntax/distribution.hpp"

namespace sluice::stepd {
namespace {

// What is left to deal, CPUs or cores, by socket.
class Pool {
 public:
  Pool(const std::vector<uint32_t>& items, uint32_t items_per_socket) : left_(items.size()) {
    uint32_t last = UINT32_MAX;
    for (const uint32_t item : items) {
      const uint32_t socket = item / items_per_socket;
      if (socket != last) sockets_.emplace_back();
      last = socket;
      sockets_.back().push_back(item);
    }
  }

  [[nodiscard]] size_t left() const { return left_; }

  void take_first(size_t count, std::vector<uint32_t>& out) {
    for (size_t at = 0; at < sockets_.size() && count > 0; ++at) {
      const size_t some = std::min(count, sockets_[at].size());
      take(at, some, out);
      count -= some;
    }
  }

  // Takes `count` of one socket, the next in turn that has so many; else the first that are left.
  void take_together(size_t count, std::vector<uint32_t>& out) {
    for (size_t tries = 0; tries < sockets_.size(); ++tries) {
      const size_t at = next_++ % sockets_.size();
      if (sockets_[at].size() >= count) return take(at, count, out);
    }
    take_first(count, out);
  }

  void take_in_turn(size_t count, std::vector<uint32_t>& out) {
    for (; count > 0; --count) take_together(1, out);
  }

 private:
  void take(size_t socket, size_t count, std::vector<uint32_t>& out) {
    auto& from = sockets_[socket];
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
    out.insert(out.end(), from.begin(), end);
    from.erase(from.begin(), end);
    left_ -= count;
  }

  size_t left_;
  std::vector<std::vector<uint32_t>> sockets_;
  size_t next_ = 0;
};

// Deals `each` of the items to every task, and all of them again when none is left.
std::vector<std::vector<uint32_t>> deal(const std::vector<uint32_t>& items,
                                        uint32_t items_per_socket, const CpuDemand& demand,
                                        size_t each) {
  std::vector<std::vector<uint32_t>> out(demand.tasks);
  each = std::min(each, items.size());
  Pool pool(items, items_per_socket);
  for (auto& own : out) {
    if (pool.left() == 0) pool = Pool(items, items_per_socket);
    switch (demand.order) {
      case SocketOrder::kBlock: pool.take_first(each, own); break;
      case SocketOrder::kCyclic: pool.take_together(each, own); break;
      case SocketOrder::kFcyclic: pool.take_in_turn(each, own); break;
    }
  }
  return out;
}

// The cores of these CPUs, in order.
std::vector<uint32_t> cores_of(const std::vector<uint32_t>& cpus, const CpuShape& shape) {
  std::vector<uint32_t> cores;
  for (const uint32_t cpu : cpus) {
    if (cores.empty() || cores.back() != shape.core_of(cpu)) cores.push_back(shape.core_of(cpu));
  }
  return cores;
}

// Those of the CPUs that are in one of these cores.
std::vector<uint32_t> cpus_of(const std::vector<uint32_t>& cores, const std::vector<uint32_t>& cpus,
                              const CpuShape& shape) {
  const std::set<uint32_t> wanted(cores.begin(), cores.end());
  std::vector<uint32_t> out;
  std::ranges::copy_if(cpus, std::back_inserter(out),
                       [&](uint32_t cpu) { return wanted.contains(shape.core_of(cpu)); });
  return out;
}

// Those of the CPUs that share a socket with one of these.
std::vector<uint32_t> cpus_near(const std::vector<uint32_t>& own, const std::vector<uint32_t>& cpus,
                                const CpuShape& shape) {
  std::set<uint32_t> sockets;
  for (const uint32_t cpu : own) sockets.insert(shape.socket_of(cpu));
  std::vector<uint32_t> out;
  std::ranges::copy_if(cpus, std::back_inserter(out),
                       [&](uint32_t cpu) { return sockets.contains(shape.socket_of(cpu)); });
  return out;
}

// The CPUs without the threads of each core that tasks do not use.
std::vector<uint32_t> used_cpus(const std::vector<uint32_t>& cpus, const CpuShape& shape,
                                const CpuDemand& demand) {
  if (demand.used_threads == 0) return cpus;
  std::vector<uint32_t> used;
  for (const uint32_t cpu : cpus) {
    if (cpu % shape.threads_per_core < demand.used_threads) used.push_back(cpu);
  }
  return used;
}

}  // namespace

std::vector<std::vector<uint32_t>> deal_cpus(const std::vector<uint32_t>& cpus,
                                             const CpuShape& shape, const CpuDemand& demand) {
  if (demand.tasks == 0 || cpus.empty()) return {};
  if (demand.unit == BindUnit::kCore) {
    const uint32_t threads = demand.used_threads == 0
                                 ? shape.threads_per_core
                                 : std::min(demand.used_threads, shape.threads_per_core);
    auto out = deal(cores_of(cpus, shape), shape.cores_per_socket, demand,
                    (demand.each + threads - 1) / threads);
    for (auto& own : out) own = cpus_of(own, cpus, shape);
    return out;
  }
  const std::vector<uint32_t> used = used_cpus(cpus, shape, demand);
  const bool enough = used.size() >= size_t{demand.tasks} * demand.each;
  if (demand.unit == BindUnit::kThread && !enough) return {};
  auto out = deal(used, shape.cores_per_socket * shape.threads_per_core, demand, demand.each);
  if (demand.unit == BindUnit::kSocket) {
    for (auto& own : out) own = cpus_near(own, cpus, shape);
  }
  return out;
}

bool find_unit(const std::vector<uint32_t>& cpus, const CpuShape& shape, CpuDemand& demand) {
  std::set<uint32_t> sockets;
  for (const uint32_t cpu : cpus) sockets.insert(shape.socket_of(cpu));
  const size_t wanted = size_t{demand.tasks} * demand.each;
  if (wanted == sockets.size()) {
    demand.unit = BindUnit::kSocket;
  } else if (wanted == cores_of(cpus, shape).size()) {
    demand.unit = BindUnit::kCore;
  } else if (wanted == used_cpus(cpus, shape, demand).size()) {
    demand.unit = BindUnit::kThread;
  } else {
    return false;
  }
  return true;
}

SocketOrder socket_order(std::string_view distribution) {
  const std::string order = distribution_of(distribution, DistributionLevel::kSockets);
  return order == "block"     ? SocketOrder::kBlock
         : order == "fcyclic" ? SocketOrder::kFcyclic
                              : SocketOrder::kCyclic;
}

}  // namespace sluice::stepd
