#include "noded/jobs/kept_jobs.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "common/wire/codec.hpp"

namespace sluice::noded {

std::string KeptJobs::path(JobId job, uint32_t restart) const {
  return fmt::format("{}/{}.{}", folder_, job, restart);
}

Status KeptJobs::store(const KeptJob& job) const {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  return replace_file(path(job.job, job.restart), wire::encode(job));
}

void KeptJobs::remove(JobId job, uint32_t restart) const {
  std::remove(path(job, restart).c_str());
}

std::vector<KeptJob> KeptJobs::load() const {
  std::vector<KeptJob> jobs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() == kUnfinishedFile) continue;
    auto job = wire::decode<KeptJob>(read_file(entry.path().string()).value_or(""));
    if (job && job->job_spec != nullptr) jobs.push_back(std::move(*job));
  }
  return jobs;
}

}  // namespace sluice::noded
