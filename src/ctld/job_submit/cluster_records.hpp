// What scripts see of the cluster: partitions, jobs and reservations, as they are in a snapshot.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ctld/job_submit/lua_fields.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::ctld {

// Records by name, which live as long as this.
class RecordTable {
 public:
  void add(const std::string& name, LuaRecord::Values values);
  // Of all that were added before it is called first.
  [[nodiscard]] LuaFields& fields();

 private:
  std::map<std::string, std::unique_ptr<LuaRecord>> records_;
  std::unique_ptr<LuaRecord> table_;
};

// part_list: those that a user of these groups may use, by their names.
[[nodiscard]] RecordTable partition_records(const state::ClusterState& state, uint32_t uid,
                                            const std::vector<std::string>& groups);
// slurm.reservations
[[nodiscard]] RecordTable reservation_records(const state::ClusterState& state);

// job_rec, or one of slurm.jobs. What is asked for is worked out then.
class JobFields final : public LuaFields {
 public:
  explicit JobFields(state::FoundJob job) : job_(std::move(job)) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] Status set(std::string_view name, const LuaValue& value, bool& known) override;
  [[nodiscard]] std::vector<std::string> names() override;

 private:
  state::FoundJob job_;
};

// slurm.jobs: each is made once the script asks for it. The state outlives this.
class JobTable final : public LuaFields {
 public:
  explicit JobTable(const state::ClusterState& state) : state_(state) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] Status set(std::string_view name, const LuaValue& value, bool& known) override;
  [[nodiscard]] std::vector<std::string> names() override;

 private:
  const state::ClusterState& state_;
  std::map<JobId, std::unique_ptr<JobFields>> made_;
};

}  // namespace sluice::ctld
