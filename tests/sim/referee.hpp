// What users and administrators may rely on, checked from outside: it knows what was asked for,
// which jobs started, and what ran on the nodes. It shares no code with the core's own checks.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fake_node.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/apply.hpp"

namespace sluice::sim {

// What the simulated cluster has.
struct Limits {
  uint64_t memory_mib = 0;               // of a node
  uint32_t cpus = 0;                     // of a node
  std::map<std::string, uint64_t> gres;  // of a node, by "name" or "name:type"
  uint64_t licenses = 0;
  uint32_t sharers = 1;  // of a core (OverSubscribe)
};

class Referee {
 public:
  // `exact`: starts are the scheduler's, which grants what was asked for; else anything that the
  // core lets pass.
  Referee(Limits limits, bool exact) : limits_(std::move(limits)), exact_(exact) {}

  // A user submits these: one job, or the components of a heterogeneous one.
  void asked(uint64_t request_id, std::vector<JobSpec> specs);
  // Somebody updates the job: what was asked for at its submission no longer counts.
  void updated(JobId job) { updated_.insert(job); }
  // The controller has applied the event.
  void applied(const state::ClusterState& state, const state::Event& event, Time now);
  // The node has ended what it was told to end when it registered.
  void cleaned(const std::string& node) { unsure_.erase(node); }
  // What runs there may be left of a job that was lost with the node: nobody knows yet.
  [[nodiscard]] bool is_unsure(const std::string& node) const { return unsure_.contains(node); }
  // A node has started the step.
  void started(const std::string& node, const StepKey& key);
  // Whether these two may have the same cores at one time.
  [[nodiscard]] bool may_overlap(JobId a, JobId b) const {
    return limits_.sharers > 1 || suspended_.contains(a) || suspended_.contains(b);
  }
  void found(const std::string& problem);

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct History {
    bool started = false, ended = false, ended_well = false, ended_badly = false;
  };
  void job_started(const state::ClusterState& state, const Job& job, Time now);
  void note_end(JobId id, JobState how);
  void check_granted(const Job& job, const JobSpec& spec);
  void check_times(const Job& job, const JobSpec& spec, Time now);
  void check_order(const state::ClusterState& state, const Job& job, const JobSpec& spec);
  void check_throttle(const state::ClusterState& state, const Job& job, const JobSpec& spec);
  void check_reservations(const state::ClusterState& state, const Job& job, Time now);
  void check_kept_counts(const state::ClusterState& state, const Job& job,
                         const NodeAllocation& part, Time now);
  void check_licenses(const state::ClusterState& state);
  void check_kept_licenses(const state::ClusterState& state, const Job& job, Time now);
  void check_node(const state::ClusterState& state, NodeId node);
  [[nodiscard]] const JobSpec* spec_of(const Job& job) const;
  void wrong(const Job& job, const std::string& what);

  Limits limits_;
  bool exact_;
  std::map<uint64_t, std::vector<JobSpec>> asked_;
  std::set<JobId> updated_;
  std::set<JobId> several_;       // of arrays and heterogeneous jobs, ever
  std::set<JobId> suspended_;     // at any time
  std::set<std::string> unsure_;  // nodes that were DOWN and have not registered since
  std::map<JobId, History> histories_;
  std::map<StepKey, std::set<std::string>> ran_;  // on which nodes
  std::vector<std::string> problems_;
};

}  // namespace sluice::sim
