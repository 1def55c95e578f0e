// What sacct shows of a job or step, in its text columns and in --json alike.
#pragma once

#include <string>
#include <string_view>

#include "cli/sacct/fields.hpp"

namespace sluice::cli {

[[nodiscard]] std::string sacct_job_id(const JobHistory& job);  // "12", "12_3", "12_[4-9]", "12+1"
// "COMPLETED"; with `by`, "CANCELLED by 1000".
[[nodiscard]] std::string sacct_job_state(const JobHistory& job, bool by = true);
[[nodiscard]] std::string sacct_step_state(const StepHistory& step, bool by = true);

// The time in which it ran, without what it was suspended for.
[[nodiscard]] Duration sacct_elapsed(const SacctRow& row, const SacctContext& context);
[[nodiscard]] Duration sacct_suspended(const JobHistory& job, Time now);
// From when it could have started until it did.
[[nodiscard]] Duration sacct_planned(const JobHistory& job, Time now);
[[nodiscard]] UsageHistory sacct_usage(const protocol::HistoryJob& record);  // sum of its steps

// "1-02:03:04", "02:03:04", "03:04.567"
[[nodiscard]] std::string sacct_cpu_time(Duration time);
// "billing=8,cpu=8,mem=800M,node=2"
[[nodiscard]] std::string sacct_tres(const NamedTresList& list, const SacctContext& context);
[[nodiscard]] uint64_t count_of_tres(const NamedTresList& list, std::string_view name);
// Bytes with the unit that is asked for, else with the largest that loses nothing.
[[nodiscard]] std::string sacct_bytes(uint64_t bytes, const SacctContext& context);
[[nodiscard]] std::string sacct_memory(uint64_t mebibytes, const SacctContext& context);
// Bytes in units from M on: "0.07M".
[[nodiscard]] std::string sacct_disk(double bytes, const SacctContext& context);
// A file's pattern (%j) with the job's numbers; as it is where it is not to be expanded.
[[nodiscard]] std::string sacct_file(const SacctRow& row, const std::string& pattern, bool expand);

}  // namespace sluice::cli
