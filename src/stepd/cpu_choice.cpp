#include "stepd/cpu_choice.hpp"

#include <algorithm>
#include <set>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

// The CPUs that are left, by socket, each socket in the order its CPUs are taken.
class Pool {
 public:
  Pool(const std::vector<uint32_t>& cpus, const CpuShape& shape, bool cores_first) {
    for (const uint32_t cpu : cpus) {
      const uint32_t socket = shape.socket_of(cpu);
      if (numbers_.empty() || numbers_.back() != socket) {
        numbers_.push_back(socket);
        sockets_.emplace_back();
      }
      sockets_.back().push_back(cpu);
    }
    if (!cores_first) return;
    for (auto& socket : sockets_) {
      std::ranges::stable_sort(socket, {}, [&](uint32_t cpu) { return cpu % shape.threads_per_core; });
    }
  }

  // Takes `count` CPUs of one socket, the next in turn that has so many; fewer when none has.
  void take_together(uint32_t count, std::vector<uint32_t>& out) {
    for (size_t tries = 0; tries < sockets_.size(); ++tries) {
      const size_t at = next_++ % sockets_.size();
      if (sockets_[at].size() < count) continue;
      take(at, count, out);
      return;
    }
    for (size_t at = 0; at < sockets_.size() && count > 0; ++at) {
      const auto some = static_cast<uint32_t>(std::min<size_t>(count, sockets_[at].size()));
      take(at, some, out);
      count -= some;
    }
  }

  void take_in_turn(uint32_t count, std::vector<uint32_t>& out) {
    for (; count > 0; --count) take_together(1, out);
  }

 private:
  void take(size_t socket, uint32_t count, std::vector<uint32_t>& out) {
    auto& from = sockets_[socket];
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
    out.insert(out.end(), from.begin(), end);
    from.erase(from.begin(), end);
  }

  std::vector<uint32_t> numbers_;
  std::vector<std::vector<uint32_t>> sockets_;
  size_t next_ = 0;
};

// All CPUs of the step that are in the same core or socket as one of `own`.
std::vector<uint32_t> widen(const std::vector<uint32_t>& own,
                            const std::vector<uint32_t>& cpus,
                            const CpuShape& shape,
                            BindUnit unit) {
  const auto place = [&](uint32_t cpu) {
    return unit == BindUnit::kThread ? cpu
           : unit == BindUnit::kCore ? shape.core_of(cpu)
                                     : shape.socket_of(cpu);
  };
  std::set<uint32_t> places;
  for (const uint32_t cpu : own) places.insert(place(cpu));
  std::vector<uint32_t> out;
  for (const uint32_t cpu : cpus) {
    if (places.contains(place(cpu))) out.push_back(cpu);
  }
  return out;
}

}  // namespace

std::vector<std::vector<uint32_t>> deal_cpus(const std::vector<uint32_t>& cpus,
                                             const CpuShape& shape,
                                             const CpuDemand& demand) {
  std::vector<std::vector<uint32_t>> out(demand.tasks);
  if (demand.tasks == 0 || cpus.size() < size_t{demand.tasks} * demand.each) return {};
  Pool pool(cpus, shape, demand.order != SocketOrder::kBlock && demand.each == 1);
  auto next = cpus.begin();
  for (auto& own : out) {
    if (demand.order == SocketOrder::kBlock) {
      own.assign(next, next + demand.each);
      next += demand.each;
    } else if (demand.order == SocketOrder::kCyclic) {
      pool.take_together(demand.each, own);
    } else {
      pool.take_in_turn(demand.each, own);
    }
    own = widen(own, cpus, shape, demand.unit);
  }
  return out;
}

bool find_unit(const std::vector<uint32_t>& cpus, const CpuShape& shape, CpuDemand& demand) {
  std::set<uint32_t> cores, sockets;
  for (const uint32_t cpu : cpus) {
    cores.insert(shape.core_of(cpu));
    sockets.insert(shape.socket_of(cpu));
  }
  const size_t wanted = size_t{demand.tasks} * demand.each;
  if (wanted == sockets.size()) {
    demand.unit = BindUnit::kSocket;
  } else if (wanted == cores.size()) {
    demand.unit = BindUnit::kCore;
  } else if (wanted == cpus.size()) {
    demand.unit = BindUnit::kThread;
  } else {
    return false;
  }
  return true;
}

SocketOrder socket_order(std::string_view distribution) {
  const std::vector<std::string> levels =
      split(distribution.substr(0, distribution.find(',')), ':');
  if (levels.size() < 2) return SocketOrder::kCyclic;
  const std::string second = to_lower(levels[1]);
  return second == "block"     ? SocketOrder::kBlock
         : second == "fcyclic" ? SocketOrder::kFcyclic
                               : SocketOrder::kCyclic;
}

}  // namespace sluice::stepd
