#include "ctld/state/decide/job/size_checks.hpp"

#include <functional>
#include <string_view>
#include <type_traits>

#include "ctld/state/decide/job/job_checks.hpp"

namespace sluice::state {
namespace {

// The same for jobs that ask the same of nodes: without what they run, when, and what they are
// called.
JobSpec demand_of(JobSpec spec) {
  for (SharedText JobSpec::*text : {&JobSpec::user_name,
                                    &JobSpec::group_name,
                                    &JobSpec::submit_host,
                                    &JobSpec::submit_line,
                                    &JobSpec::name,
                                    &JobSpec::wckey,
                                    &JobSpec::comment,
                                    &JobSpec::admin_comment,
                                    &JobSpec::extra,
                                    &JobSpec::command,
                                    &JobSpec::script_blob,
                                    &JobSpec::work_dir,
                                    &JobSpec::std_in,
                                    &JobSpec::environment_blob,
                                    &JobSpec::std_out,
                                    &JobSpec::std_err,
                                    &JobSpec::dependency,
                                    &JobSpec::array,
                                    &JobSpec::mail_type,
                                    &JobSpec::mail_user,
                                    &JobSpec::profile,
                                    &JobSpec::export_list,
                                    &JobSpec::acctg_frequency,
                                    &JobSpec::container,
                                    &JobSpec::cron})
    spec.*text = {};
  spec.arguments.clear();
  spec.limits.clear();
  spec.begin = spec.deadline = kNoTime;
  spec.submit_sid = spec.cron_line = 0;
  spec.request_id = 0;
  spec.nice = 0;
  return spec;
}

}  // namespace

bool SizeChecks::Question::operator==(const Question& other) const {
  bool same = kind == other.kind;
  JobSpec::describe([&](uint32_t, const char*, auto member) {
    same = same && demand.*member == other.demand.*member;
  });
  return same;
}

size_t SizeChecks::Hash::operator()(const Question& question) const {
  auto hash = static_cast<size_t>(question.kind);
  JobSpec::describe([&](uint32_t, const char*, auto member) {
    const auto& value = question.demand.*member;
    using Value = std::remove_cvref_t<decltype(value)>;
    size_t part = 0;
    if constexpr (std::is_same_v<Value, SharedText>) {
      part = value.empty() ? 0 : std::hash<std::string_view>()(value.view());
    } else if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
      part = static_cast<size_t>(value);
    }
    hash = hash * 1'000'003 + part;
  });
  return hash;
}

template <class Check>
Status SizeChecks::answer(Kind kind, const JobSpec& spec, const Check& check) {
  left_ += kOfJob;
  Question key{kind, demand_of(spec)};
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  if (left_ <= 0)
    return failure(ErrorCode::kBadRequest,
                   "this asks for too many different sizes at once: name fewer");
  size_t looked_at = 0;
  Status answer = check(looked_at);
  left_ -= static_cast<int64_t>(looked_at);
  known_.emplace(std::move(key), answer);
  return answer;
}

Status SizeChecks::size(const ClusterState& state, const JobSpec& spec,
                        const std::vector<const Partition*>& partitions, bool held) {
  return answer(held ? Kind::kHeld : Kind::kSize, spec, [&](size_t& looked_at) {
    return check_size(state, spec, partitions, held, &looked_at);
  });
}

Status SizeChecks::reserved_room(const ClusterState& state, const JobSpec& spec,
                                 const std::vector<const Partition*>& partitions, Time now) {
  if (spec.reservation.empty()) return {};
  return answer(Kind::kReserved, spec, [&](size_t& looked_at) {
    return check_reserved_room(state, spec, partitions, now, &looked_at);
  });
}

}  // namespace sluice::state
