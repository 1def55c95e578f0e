// Unfinished jobs by user and name, for --dependency=singleton: each job that waits for all others
// of its name looks at them again and again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/shared_text.hpp"
#include "ctld/state/core/cow_id_set.hpp"
#include "ctld/state/core/cow_ptr.hpp"
#include "ctld/state/core/cow_table.hpp"

namespace sluice::state {

// Most names have one job, which is to take little memory; some have a hundred thousand.
struct NamedJobs {
  uint32_t uid = 0;
  SharedText name;
  std::vector<JobId> few;  // in order; empty when they are, or once were, many
  CowIdSet many;

  void insert(JobId id);
  void erase(JobId id);
  [[nodiscard]] bool empty() const { return few.empty() && many.empty(); }
  friend bool operator==(const NamedJobs& a, const NamedJobs& b);
};

// Its copy shares everything, as that of CowTable.
class JobNames {
 public:
  void insert(uint32_t uid, const SharedText& name, JobId id);
  void erase(uint32_t uid, const SharedText& name, JobId id);  // which is there
  void clear() { buckets_.clear(); }
  // Null: there are none. The pointer holds until the next change.
  [[nodiscard]] const NamedJobs* find(uint32_t uid, std::string_view name) const;
  friend bool operator==(const JobNames& a, const JobNames& b);

 private:
  struct Bucket {
    std::vector<CowPtr<NamedJobs>> entries;  // in the order of uids and names
  };
  CowTable<Bucket> buckets_;  // by hash
};

}  // namespace sluice::state
