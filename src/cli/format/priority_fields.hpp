// The columns of sprio.
#pragma once

#include <span>
#include <string>

#include "common/format/field_row.hpp"
#include "common/protocol/priority.hpp"

namespace sluice {

// A job in one of its partitions, or the line of the weights.
struct PriorityView {
  const protocol::PriorityRecord* record = nullptr;  // null: the weights
  const protocol::PriorityChunk* all = nullptr;      // what each weighs

  [[nodiscard]] const PriorityWeights& weights() const { return all->weights; }
};

[[nodiscard]] std::span<const FieldRow<PriorityView>> priority_fields();

// The layouts without -o. Unless the long form is asked for they have columns only of factors that
// weigh anything.
struct PriorityLayout {
  bool long_form = false;
  bool normal = false;  // factors before they are weighed
  bool users = false;   // some were asked for
  bool cluster = false;
};
[[nodiscard]] std::string priority_layout(const PriorityLayout& form,
                                          const PriorityWeights& weights);

}  // namespace sluice
