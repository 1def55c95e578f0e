// What a node has free in a span of time, and what a job takes of it.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/bitmap.hpp"
#include "common/model/gres.hpp"
#include "ctld/fit/place.hpp"

namespace sluice::timeline {

// A job's part of one node.
struct Claim {
  const Bitmap* cores = nullptr;  // not owned; not looked at of whole nodes
  uint64_t memory_mib = 0;
  const GresShares* gres = nullptr;  // not owned; null: none
  uint32_t uid = fit::kNoUser;
  bool whole = false;     // the job has the node alone
  bool one_user = false;  // no job of another user beside it
  // suspended: it holds memory and generic resources alone, and any job may be beside it
  bool parked = false;
  uint32_t group = 0;  // of those for whom something may be kept; 0: none
};

struct Free {
  Bitmap cores;
  uint32_t core_count = 0;  // of `cores`
  uint64_t memory_mib = 0;
  uint32_t jobs = 0;             // that hold something; of a span the most at once
  uint32_t user = fit::kNoUser;  // of those jobs
  bool one_user = false;
  std::shared_ptr<const GresShares> used_gres;  // null: none

  void take(const Claim& claim);
  // What is free in both: of a span and the next one.
  void intersect(const Free& other);
};

// What is used of generic resources in either: of a unit the more of both.
void unite(GresShares& into, const GresShares& other);

}  // namespace sluice::timeline
