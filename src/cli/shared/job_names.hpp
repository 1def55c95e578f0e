// Jobs and steps as words of a command line name them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/shared/client.hpp"
#include "common/base/ids.hpp"

namespace sluice::cli {

// A word before its step is looked up: "12_3.batch" is the job 12_3 and its batch step.
struct NamedStep {
  std::string job;
  std::optional<StepNumber> step;  // none: the word has no dot
};

// Nothing when there is a dot, and what stands behind it is no step.
[[nodiscard]] std::optional<NamedStep> parse_named_step(std::string_view word);
// What a command says of a word that parse_named_step() has refused, before it ends.
void print_bad_step(std::string_view program, std::string_view word);
// The number that the name begins with, when nothing else follows than the task of an array (12_3)
// or the component of a heterogeneous job (12+1).
[[nodiscard]] std::optional<JobId> number_of_job(std::string_view name);
// The job of this name; the controller is asked for tasks and components. Errors: kInvalidJobId,
// and those of the call.
[[nodiscard]] Result<JobId> find_job(Client& client, const std::string& name);

}  // namespace sluice::cli
