// sluice compatibility: prints docs/compatibility.md.
#include "cli/compatibility.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "common/config/keys/conf_keys.hpp"
#include "cli/format/job_fields.hpp"
#include "common/config/partition_update.hpp"
#include "common/format/reservation_keys.hpp"
#include "cli/format/sinfo_fields.hpp"
#include "common/submit/submit_options.hpp"
#include "common/submit/update_keys.hpp"

namespace sluice::cli {
namespace {

std::string_view support_text(Support support) {
  switch (support) {
    case Support::kSupported: return "supported";
    case Support::kUntested: return "acts, not tested yet";
    case Support::kNoEffect: return "accepted without effect";
    default: return "missing";
  }
}

template <class Row>
void append_fields(std::string_view title, std::span<const FieldRow<Row>> fields,
                   std::string_view test, std::string& out) {
  out.append("\n## ").append(title).append("\n\nTest: `").append(test).append("`.\n\n");
  for (const FieldRow<Row>& field : fields) {
    out.append(&field == &fields.front() ? "" : ", ").append("`").append(field.name);
    if (field.letter != '\0') out.append(" %").push_back(field.letter);
    out.append("`");
  }
  out.append("\n");
}

template <class Key>
void append_keys(std::string_view title, std::span<const Key> keys, std::string& out) {
  std::string acts;
  std::string refused;
  for (const Key& key : keys) {
    std::string& list = key.set != nullptr ? acts : refused;
    list.append(list.empty() ? "" : ", ").append("`").append(key.name).append("`");
    if (!key.subject.empty()) list.append(" (").append(key.subject).append(")");
  }
  out.append("\n## ").append(title).append("\n\nTaken: ").append(acts);
  out.append("\n\nRefused: ").append(refused).append("\n");
}

void append_list(std::string_view what, const std::vector<std::string>& names, std::string& out) {
  out.append("\n").append(what).append(": ");
  for (const std::string& name : names)
    out.append(&name == &names.front() ? "" : ", ").append("`").append(name).append("`");
  out.append("\n");
}

// The keys are those of slurm.conf's PartitionName lines.
void append_partition_keys(std::string& out) {
  std::vector<std::string> acts, idle;
  for (const auto& key : tables::partition_keys()) {
    (key.effect == tables::ConfEffect::kActs ? acts : idle).emplace_back(key.name);
  }
  out.append("\n## scontrol create and update PartitionName=…\n");
  append_list("Taken", acts, out);
  append_list("Taken without effect, which the controller's log says", idle, out);
}

void append_reservation_keys(std::string& out) {
  std::vector<std::string> taken;
  std::vector<std::string> refused;
  for (const ReservationKeyName& key : reservation_key_names())
    (key.taken ? taken : refused).emplace_back(key.name);
  const std::vector<std::string_view> names = reservation_flag_names();
  out.append("\n## scontrol create and update reservation\n");
  append_list("Taken", taken, out);
  append_list("Refused", refused, out);
  out.append(
      "\nOf `TRES` only `node=…`, `cpu=…`, `license/NAME=…` and `gres/NAME=…` are taken, of "
      "`TRESPerNode` only the last.\n");
  append_list("Flags", {names.begin(), names.end()}, out);
  append_list("Flags that are refused", {"FIRST_CORES"}, out);
}

void append_row(const CompatibilityRow& row, std::string& out) {
  out.append("| `").append(row.what).append("` | ").append(support_text(row.support)).append(" | ");
  if (!row.test.empty()) out.append("`").append(row.test).append("` ");
  if (!row.subject.empty()) out.append(row.subject).append(" ");
  out.append("|\n");
}

void append_heading(std::string_view title, std::string& out) {
  out.append("\n## ").append(title).append(
      "\n\n| | state | test, or what it belongs to |\n|---|---|---|\n");
}

// A unit test proves that the option reaches the request, not that the cluster obeys it.
Support support_of(const SubmitOption& option, std::string_view test) {
  if (option.status == OptionStatus::kMissing) return Support::kMissing;
  if (option.status == OptionStatus::kAccepted) return Support::kNoEffect;
  const bool proved = test.starts_with("system:") || test.starts_with("golden:");
  return proved ? Support::kSupported : Support::kUntested;
}

void append_differences(std::string& out) {
  out.append(
      "\n## Otherwise than in Slurm 22.05\n\nWhat each command of a user's day prints otherwise is noted beside it in "
      "`tests/golden/day`.\n\n| about | here | Slurm |\n|---|---|---|\n");
  for (const CompatibilityDifference& one : compatibility_differences()) {
    out.append("| ").append(one.about).append(" | ").append(one.ours).append(" | ");
    out.append(one.theirs).append(one.theirs.empty() ? "|\n" : " |\n");
  }
}

void append_submit_options(CommandSet command, std::string& out) {
  append_heading(submit_command_name(command), out);
  for (const SubmitOption& option : submit_options()) {
    if ((option.commands & command) == 0) continue;
    std::string what = "--" + std::string(option.name);
    if (option.letter != 0) what.append(", -").push_back(option.letter);
    const std::string_view test = test_of(option, command);
    append_row({submit_command_name(command), what, support_of(option, test), test, option.subject},
               out);
  }
}

}  // namespace

std::string compatibility_text() {
  std::string out =
      "# Compatibility with Slurm\n\n"
      "Printed by `sluice compatibility` from the tables of the code; a test keeps this page in "
      "step.\n\"Supported\" names the test that fails when the option is ignored; what does not act yet names the "
      "subject it belongs to.\n";
  std::string_view command;
  for (const CompatibilityRow& row : compatibility_rows()) {
    if (row.command != command) {
      command = row.command;
      append_heading(command, out);
    }
    append_row(row, out);
  }
  for (const CommandSet submitter : {kSbatch, kSrun, kSalloc})
    append_submit_options(submitter, out);
  append_fields("squeue -o and -O", job_fields(), "cli:Squeue.EveryLetterAsCaptured", out);
  append_fields("sinfo -o and -O", sinfo_fields(), "cli:Fields.SinfoHasThemAll", out);
  append_keys("scontrol update JobId=…", job_update_keys(), out);
  append_keys("scontrol update NodeName=…", node_update_keys(), out);
  append_partition_keys(out);
  append_reservation_keys(out);
  append_differences(out);
  return out;
}

int compatibility_main(int, char**) {
  const std::string text = compatibility_text();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace sluice::cli
