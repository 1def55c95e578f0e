#include "ctld/query/record_size.hpp"

#include <type_traits>

#include "ctld/state/core/text_bytes.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kRecordBytes = 512;  // of a record without texts
constexpr size_t kNodeBytes = 96;     // of a node of an allocation or a layout
constexpr size_t kTextKept = 1024;    // of a text, or of all arguments

template <class Spec>
std::shared_ptr<const Spec> with_short_texts(const Spec& spec) {
  auto out = std::make_shared<Spec>(spec);
  Spec::describe([&](uint32_t, const char*, auto member) {
    auto& one = (*out).*member;
    if constexpr (std::is_same_v<std::decay_t<decltype(one)>, SharedText>) {
      if (one.size() > kTextKept) one = one.view().substr(0, kTextKept);
    }
    if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::vector<SharedText>>) {
      size_t kept = 0, bytes = 0;
      while (kept < one.size() && bytes < kTextKept) bytes += one[kept++].size() + 1;
      one.resize(kept);
      if (bytes > kTextKept && kept > 0) one.back() = one.back().view().substr(0, kTextKept);
    }
  });
  return out;
}

}  // namespace

size_t record_bytes(const protocol::JobRecord& record) {
  const Job& job = record.job;
  size_t bytes = kRecordBytes + state::text_bytes(*job.spec) + record.dependency.size() +
                 record.required_tres.size() + record.allocated_tres.size();
  if (job.allocation) bytes += kNodeBytes * job.allocation->nodes.size();
  for (const auto& step : job.steps) {
    bytes += kRecordBytes;
    if (step->spec != nullptr) bytes += state::text_bytes(*step->spec);
  }
  return bytes;
}

size_t cut_long_texts(protocol::JobRecord& record) {
  if (const size_t bytes = record_bytes(record); bytes <= kMostRecordBytes) return bytes;
  record.job.spec = with_short_texts(*record.job.spec);
  for (auto& step : record.job.steps) {
    if (step->spec == nullptr) continue;
    auto cut = std::make_shared<Step>(*step);
    cut->spec = with_short_texts(*step->spec);
    step = std::move(cut);
  }
  return record_bytes(record);
}

}  // namespace sluice::ctld
