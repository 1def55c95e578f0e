// FoundJob: a job that was looked up: a record of the state, or one made from a folded array task.
#pragma once

#include <optional>
#include <utility>

#include "common/model/job.hpp"

namespace sluice::state {

class FoundJob {
 public:
  FoundJob() = default;
  explicit FoundJob(const Job* record) : record_(record) {}
  explicit FoundJob(Job made) : made_(std::move(made)) {}

  [[nodiscard]] explicit operator bool() const { return get() != nullptr; }
  // Holds as long as this does; a record also no longer than the table is unchanged.
  [[nodiscard]] const Job* get() const { return made_ ? &*made_ : record_; }
  [[nodiscard]] const Job& operator*() const { return *get(); }
  [[nodiscard]] const Job* operator->() const { return get(); }
  // It is over, and has no record of its own.
  [[nodiscard]] bool is_folded() const { return made_.has_value(); }

 private:
  const Job* record_ = nullptr;
  std::optional<Job> made_;
};

}  // namespace sluice::state
