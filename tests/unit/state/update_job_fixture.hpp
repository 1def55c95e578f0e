// Updates of jobs by who asks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/model/job_update.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {

class UpdateJobTest : public CoreTest {
 protected:
  PartitionConfig& add_partition(ClusterConfig& config, const std::string& name) {
    PartitionConfig made = config.partitions[0];
    made.is_default = false;
    made.name = name;
    return config.partitions.emplace_back(std::move(made));
  }
  ErrorCode update(Identity who, JobId id, const std::function<void(JobUpdate&)>& change,
                   std::vector<std::string> groups = {"users"}) {
    UpdateJob command{who, std::to_string(id), {}, std::move(groups)};
    change(command.update);
    return error_of(command);
  }
  ErrorCode limit(Identity who, JobId id, Minutes to) {
    return update(who, id, [to](JobUpdate& u) { u.time_limit = to; });
  }
  ErrorCode move(Identity who, JobId id, const char* to,
                 std::vector<std::string> groups = {"users"}) {
    return update(
        who, id, [to](JobUpdate& u) { u.partitions = to; }, std::move(groups));
  }
  JobId running(Minutes limit) {
    JobSpec spec = batch_spec();
    spec.time_limit = limit;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, "n1"));
    return id;
  }
};

}  // namespace sluice::state
