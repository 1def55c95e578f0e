#include "cli/shared/job_names.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli {

std::optional<NamedStep> parse_named_step(std::string_view word) {
  const size_t dot = word.find('.');
  NamedStep named{std::string(word.substr(0, dot)), std::nullopt};
  if (dot == std::string_view::npos) return named;
  named.step = parse_step_number(word.substr(dot + 1));
  if (!named.step) return std::nullopt;
  return named;
}

void print_bad_step(std::string_view program, std::string_view word) {
  fmt::print(stderr, "{}: fatal: Bad step specified: {}\n", program,
             word.substr(0, word.find('.')));
}

std::optional<JobId> number_of_job(std::string_view name) {
  const size_t mark = std::min(name.find_first_of("_+"), name.size());
  if (mark < name.size() && !to_number<uint32_t>(name.substr(mark + 1))) return std::nullopt;
  return to_number<JobId>(name.substr(0, mark));
}

Result<JobId> find_job(Client& client, const std::string& name) {
  const auto number = number_of_job(name);
  if (!number) return failure(ErrorCode::kInvalidJobId);
  if (name.find_first_of("_+") == std::string::npos) return *number;
  protocol::QueryJobsRequest request;
  request.ids = {name};
  request.all_states = true;
  JobId found = kNoJob;
  const Status status = client.query_jobs(request, [&](protocol::JobChunk&& chunk) {
    for (const protocol::JobRecord& record : chunk.jobs) found = record.job.id;
    return true;
  });
  if (!status) return tl::unexpected(status.error());
  if (found == kNoJob) return failure(ErrorCode::kInvalidJobId);
  return found;
}

}  // namespace sluice::cli
