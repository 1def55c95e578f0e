// The fields of a step that `squeue --steps` shows, and scontrol's text of one step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/model/step.hpp"
#include "common/format/field_row.hpp"
#include "common/format/job_values.hpp"
#include "common/format/json_parts.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice {

struct StepView {
  const protocol::JobRecord* record = nullptr;
  const Step* step = nullptr;

  [[nodiscard]] const StepSpec& spec() const;
  [[nodiscard]] JobView job() const { return {record, kNoTask, {}}; }
};

using StepField = FieldRow<StepView>;
[[nodiscard]] std::span<const StepField> step_fields();

[[nodiscard]] std::string_view step_name(const StepView& view);  // as given, or "batch"
void append_step_id(const StepView& view, std::string& out);     // "12.0", "2_9.batch"

// "cpu=2,mem=100M,node=1", with the generic resources that AccountingStorageTRES names; "(null)" of
// named steps.
[[nodiscard]] std::string step_tres(const StepView& view,
                                    const std::vector<std::string>& accounting_tres = {});

// As `scontrol show step` prints it, without the blank line that follows.
[[nodiscard]] std::string show_step(const StepView& view, const RenderContext& context,
                                    bool one_line);
// What a record cannot say is added to `warnings`, as in Slurm.
[[nodiscard]] Json step_to_json(const StepView& view, const RenderContext& context,
                                std::vector<std::string>& warnings);

}  // namespace sluice
