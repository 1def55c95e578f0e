// EASY and conservative backfill of rigid jobs on equal nodes of one CPU, as the first
// implementation would be: at each event everything is planned anew, each moment at which something
// ends is tried, and each node is looked at. Queue in the order of submission; a job gets the first
// nodes that are free as long as it may run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace sluice::sim {

struct ReferenceJob {
  int64_t submit = 0, run = 0, limit = 0;  // seconds
  uint32_t nodes = 1;
  int64_t start = -1;
};

class Reference {
 public:
  Reference(std::vector<ReferenceJob> jobs, uint32_t nodes, size_t most_planned)
      : jobs_(std::move(jobs)), nodes_(nodes), most_planned_(most_planned) {}

  std::vector<ReferenceJob> run() {
    std::set<int64_t> events;
    for (const ReferenceJob& job : jobs_) events.insert(job.submit);
    size_t submitted = 0;
    while (!events.empty()) {
      const int64_t now = *events.begin();
      events.erase(events.begin());
      std::erase_if(running_, [&](const Running& r) { return r.end <= now; });
      for (; submitted < jobs_.size() && jobs_[submitted].submit <= now; ++submitted)
        queue_.push_back(submitted);
      for (const size_t started : pass(now)) events.insert(now + jobs_[started].run);
    }
    return jobs_;
  }

 private:
  struct Span {
    int64_t from, to;
  };
  struct Running {
    int64_t end;    // really
    int64_t until;  // as far as is known
    std::vector<uint32_t> nodes;
  };
  using Spans = std::vector<std::vector<Span>>;  // by node

  std::vector<uint32_t> free_nodes(const Spans& spans, int64_t from, int64_t to) const {
    std::vector<uint32_t> free;
    for (uint32_t node = 0; node < nodes_; ++node) {
      const bool busy = std::ranges::any_of(
          spans[node], [&](const Span& span) { return span.from < to && from < span.to; });
      if (!busy) free.push_back(node);
    }
    return free;
  }

  std::vector<size_t> pass(int64_t now) {
    Spans spans(nodes_);
    std::set<int64_t> moments{now};
    const auto hold = [&](const std::vector<uint32_t>& nodes, int64_t from, int64_t to) {
      for (const uint32_t node : nodes) spans[node].push_back({from, to});
      moments.insert(to);
    };
    for (const Running& r : running_) hold(r.nodes, now, r.until);
    std::vector<size_t> started, left;
    size_t planned = 0;
    for (const size_t index : queue_) {
      ReferenceJob& job = jobs_[index];
      bool placed = false;
      for (const int64_t at : moments) {
        if (at > now && planned >= most_planned_) break;
        std::vector<uint32_t> free = free_nodes(spans, at, at + job.limit);
        if (free.size() < job.nodes) continue;
        free.resize(job.nodes);
        hold(free, at, at + job.limit);
        placed = at == now;
        if (placed) {
          job.start = now;
          running_.push_back({now + job.run, now + job.limit, free});
          started.push_back(index);
        } else {
          ++planned;
        }
        break;
      }
      if (!placed) left.push_back(index);
    }
    queue_ = std::move(left);
    return started;
  }

  std::vector<ReferenceJob> jobs_;
  uint32_t nodes_;
  size_t most_planned_;  // 1: EASY
  std::vector<size_t> queue_;
  std::vector<Running> running_;
};

}  // namespace sluice::sim
