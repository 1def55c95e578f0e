#include "ctld/state/core/job_names.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace sluice::state {
namespace {

constexpr uint32_t kBuckets = 1U << 14;
constexpr size_t kFew = 16;

uint32_t bucket_of(uint32_t uid, std::string_view name) {
  const uint64_t mixed = (std::hash<std::string_view>()(name) ^ uid) * 0x9e3779b97f4a7c15ULL;
  return static_cast<uint32_t>(mixed >> 40) % kBuckets;
}

// In a bucket there may be many: names that share one can be made up.
template <class Entries>
auto place_of_name(Entries& entries, uint32_t uid, std::string_view name) {
  return std::ranges::lower_bound(
      entries, std::pair(uid, name), {},
      [](const CowPtr<NamedJobs>& entry) { return std::pair(entry->uid, entry->name.view()); });
}

bool is_at(const CowPtr<NamedJobs>& entry, uint32_t uid, std::string_view name) {
  return entry->uid == uid && entry->name.view() == name;
}

std::vector<JobId> all_of(const NamedJobs& jobs) {
  std::vector<JobId> all = jobs.few;
  jobs.many.for_each([&](uint32_t id) { all.push_back(id); });
  return all;
}

}  // namespace

void NamedJobs::insert(JobId id) {
  if (many.empty() && few.size() < kFew) {
    few.insert(std::ranges::lower_bound(few, id), id);
    return;
  }
  for (const JobId one : std::exchange(few, {})) many.insert(one);
  many.insert(id);
}

void NamedJobs::erase(JobId id) {
  const auto at = std::ranges::lower_bound(few, id);
  if (at != few.end() && *at == id) few.erase(at);
  else many.erase(id);
}

bool operator==(const NamedJobs& a, const NamedJobs& b) {
  return a.uid == b.uid && a.name == b.name && all_of(a) == all_of(b);
}

void JobNames::insert(uint32_t uid, const SharedText& name, JobId id) {
  auto& entries = buckets_.edit_or_insert(bucket_of(uid, name)).entries;
  auto at = place_of_name(entries, uid, name);
  if (at == entries.end() || !is_at(*at, uid, name)) {
    at = entries.insert(
        at, CowPtr<NamedJobs>::make(NamedJobs{.uid = uid, .name = name, .few = {}, .many = {}}));
  }
  at->edit().insert(id);
}

void JobNames::erase(uint32_t uid, const SharedText& name, JobId id) {
  const uint32_t bucket = bucket_of(uid, name);
  auto& entries = buckets_.edit(bucket).entries;
  const auto at = place_of_name(entries, uid, name);
  SLUICE_CHECK(at != entries.end() && is_at(*at, uid, name));
  at->edit().erase(id);
  if (!(*at)->empty()) return;
  entries.erase(at);
  if (entries.empty()) buckets_.erase(bucket);
}

const NamedJobs* JobNames::find(uint32_t uid, std::string_view name) const {
  const Bucket* bucket = buckets_.find(bucket_of(uid, name));
  if (bucket == nullptr) return nullptr;
  const auto at = place_of_name(bucket->entries, uid, name);
  return at != bucket->entries.end() && is_at(*at, uid, name) ? at->get() : nullptr;
}

bool operator==(const JobNames& a, const JobNames& b) {
  if (a.buckets_.size() != b.buckets_.size()) return false;
  for (uint32_t at = a.buckets_.next_id(0); at != CowTable<JobNames::Bucket>::kNone;
       at = a.buckets_.next_id(at + 1)) {
    const JobNames::Bucket* other = b.buckets_.find(at);
    const auto same = [](const CowPtr<NamedJobs>& x, const CowPtr<NamedJobs>& y) {
      return *x == *y;
    };
    if (other == nullptr || !std::ranges::equal(a.buckets_.at(at).entries, other->entries, same))
      return false;
  }
  return true;
}

}  // namespace sluice::state
