// Which job of the simulation a job of the trace is: what jobs depend on is said with the trace's
// ids.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ctld/state/rules/dependency.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

class TraceIds {
 public:
  // `trace` outlives this.
  explicit TraceIds(const Trace& trace);
  static constexpr uint32_t kNowhere = UINT32_MAX;
  // Its place in the trace; kNowhere: it is none of it.
  [[nodiscard]] uint32_t place(const std::string& id) const;
  void submitted(uint32_t place, JobId job) { jobs_[place] = job; }
  // What the job at this place waits for, with ids of here. What is not there, or was not submitted
  // before, is over: of several of which one is enough nothing is left then.
  [[nodiscard]] std::string dependency(uint32_t place) const;

 private:
  [[nodiscard]] std::vector<JobId> jobs_of(const state::DependencyItem& item,
                                           std::string_view own) const;

  const Trace& trace_;
  std::vector<JobId> jobs_;  // by place; kNoJob: not submitted, or refused
  std::unordered_map<std::string, uint32_t> places_;
  std::unordered_map<std::string, std::vector<uint32_t>> tasks_;  // by the number of the array
};

}  // namespace sluice::sim
