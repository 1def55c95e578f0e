#include "noded/kept_jobs.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "common/base/read_file.hpp"
#include "common/wire/codec.hpp"

namespace sluice::noded {
namespace {

constexpr const char* kFresh = ".new";  // not whole yet

}  // namespace

std::string KeptJobs::path(JobId job, uint32_t restart) const { return fmt::format("{}/{}.{}", folder_, job, restart); }

Status KeptJobs::store(const KeptJob& job) const {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const std::string place = path(job.job, job.restart);
  const std::string fresh = place + kFresh;
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << wire::encode(job);
  file.close();
  if (!file || std::rename(fresh.c_str(), place.c_str()) != 0) {
    return failure(ErrorCode::kPathMissing, "cannot write " + place);
  }
  return {};
}

void KeptJobs::remove(JobId job, uint32_t restart) const { std::remove(path(job, restart).c_str()); }

std::vector<KeptJob> KeptJobs::load() const {
  std::vector<KeptJob> jobs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() == kFresh) continue;
    auto job = wire::decode<KeptJob>(read_file(entry.path().string()).value_or(""));
    if (job && job->job_spec != nullptr) jobs.push_back(std::move(*job));
  }
  return jobs;
}

}  // namespace sluice::noded
