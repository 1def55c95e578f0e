// What scripts see of the cluster: partitions, jobs and reservations, as they are in a snapshot.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctld/job_submit/lua_fields.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/access.hpp"

namespace sluice::ctld {

// Records by name, each made once the script asks for it.
class RecordTable final : public LuaFields {
 public:
  using Make = std::function<std::unique_ptr<LuaFields>(std::string_view name)>;  // null: none
  using Names = std::function<std::vector<std::string>()>;
  RecordTable(Make make, Names names) : make_(std::move(make)), names_(std::move(names)) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] std::vector<std::string> names() override { return names_(); }

 private:
  Make make_;
  Names names_;
  std::map<std::string, std::unique_ptr<LuaFields>, std::less<>> made_;
};

// The state, and what else is handed over, outlive these.
// part_list: those that he may use, by their names.
[[nodiscard]] RecordTable partition_records(const state::ClusterState& state,
                                            const state::Submitter& who);
// slurm.reservations
[[nodiscard]] RecordTable reservation_records(const state::ClusterState& state);
// slurm.jobs
[[nodiscard]] RecordTable job_records(const state::ClusterState& state);

// job_rec, or one of slurm.jobs. What is asked for is worked out then.
class JobFields final : public LuaFields {
 public:
  explicit JobFields(state::FoundJob job) : job_(std::move(job)) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] std::vector<std::string> names() override;

 private:
  state::FoundJob job_;
};

}  // namespace sluice::ctld
