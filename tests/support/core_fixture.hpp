// A small cluster for tests of the core: commands in, events applied, effects and errors out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/react.hpp"

// Compiled once, in core_fixture.cpp: each test that encodes one would compile the codec of all its
// members again.
extern template void sluice::wire::detail::put_message(std::string&,
                                                       const sluice::state::EventFrame&);
extern template void sluice::wire::detail::get_message(sluice::wire::detail::Reader&,
                                                       sluice::state::EventFrame&);
extern template void sluice::wire::detail::put_message(std::string&,
                                                       const sluice::state::StateImage&);
extern template void sluice::wire::detail::get_message(sluice::wire::detail::Reader&,
                                                       sluice::state::StateImage&);

namespace sluice::state {

inline constexpr Identity kRoot{0, 0};
inline constexpr Identity kAnn{1001, 1001};
inline constexpr Identity kBob{1002, 1002};

class CoreTest : public ::testing::Test {
 protected:
  CoreTest();

  void start();

  // As `scontrol update NodeName=NODES State=STATE Reason=REASON` of an administrator.
  static UpdateNode node_update(const std::string& nodes, const std::string& node_state,
                                const std::string& reason = {});

  // Decides and applies; effects collect in effects_. Every event goes through the codec first.
  Result<Reply> run(const Command& command);
  ErrorCode error_of(const Command& command);

  // As slurm.conf read again with a change.
  void configure(const std::function<void(ClusterConfig&)>& change);

  void register_node(const std::string& name, std::vector<protocol::StepKey> running = {});
  static JobSpec batch_spec();
  JobId submit(JobSpec spec, Identity who = kAnn);
  // An allocation of the first free cores of each node.
  std::shared_ptr<const Allocation> free_cores(const std::string& nodes, uint32_t cpus);
  bool start_job(JobId job, const std::string& nodes, uint32_t cpus = 1, uint32_t task = kNoTask);
  Result<Reply> end_step(JobId job, StepNumber step, const std::string& nodes, int32_t status,
                         bool clean = false);
  Result<Reply> cleaned(JobId job, const std::string& nodes);
  const Job& job(JobId id) { return state_.jobs.at(id); }
  template <class E>
  std::vector<E> effects() {
    std::vector<E> out;
    for (const Effect& effect : effects_) {
      if (const auto* e = std::get_if<E>(&effect)) out.push_back(*e);
    }
    return out;
  }

  std::shared_ptr<ClusterConfig> config_;
  ClusterState state_;
  Time now_ = from_seconds(1'000'000);
  Effects effects_;
  std::vector<std::string> names_;
};

}  // namespace sluice::state
