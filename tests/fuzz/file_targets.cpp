// Files of a site: what an administrator loads, restores or simulates, wherever he has it from.
#include <string>

#include "cli/sacctmgr/flat_file.hpp"
#include "common/base/check.hpp"
#include "common/model/history.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/wire/codec.hpp"
#include "dbd/archive/archive_file.hpp"
#include "dbd/config/dbd_config.hpp"
#include "fuzz/targets.hpp"
#include "sim/trace/formats.hpp"

namespace sluice::fuzz {
namespace {

void slurmdbd_conf(std::string_view input) {
  const auto include = [](const std::string&,
                          const std::string&) -> Result<std::vector<tables::ConfSource>> {
    return std::vector<tables::ConfSource>{{"other.conf", "DbdHost=other\nPurgeJobAfter=2days\n"}};
  };
  const auto config = dbd::parse_dbd_config({"slurmdbd.conf", std::string(input)}, include);
  if (!config) return;
  SLUICE_CHECK(!config->host.empty());
  (void)dbd::folder_of(*config);
}

// Lines of a flat file of `sacctmgr load`; what is written of one is read as the same.
void flat_file(std::string_view input) {
  using cli::sacctmgr::flat_line_text;
  using cli::sacctmgr::FlatLine;
  using cli::sacctmgr::parse_flat_line;
  while (!input.empty()) {
    const size_t end = std::min(input.find('\n'), input.size());
    const auto line = parse_flat_line(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
    if (!line || !*line) continue;
    FlatLine plain{(*line)->kind, (*line)->name, {}};
    for (const auto& [name, value] : (*line)->options)
      plain.options.emplace_back("Description", name + value);
    const auto again = parse_flat_line(flat_line_text(plain));
    SLUICE_CHECK(again && *again && (*again)->kind == plain.kind);
    SLUICE_CHECK((*again)->name == plain.name && (*again)->options == plain.options);
  }
}

void archive(std::string_view input) {
  const auto file = dbd::parse_archive(input, "archive");
  if (!file) return;
  for (const dbd::ArchivedRow& row : file->rows) {
    if (row.table == "job") (void)wire::decode<JobHistory>(row.record);
    else if (row.table == "step") (void)wire::decode<StepHistory>(row.record);
    else if (row.table == "node_event") (void)wire::decode<NodeHistory>(row.record);
    else if (row.table == "reservation") (void)wire::decode<ReservationHistory>(row.record);
    else if (row.table == "cluster_event") (void)wire::decode<ClusterHistory>(row.record);
    else (void)wire::decode<protocol::TransactionRecord>(row.record);
  }
}

// SWF, or an export of sacct by its first line.
void trace(std::string_view input) {
  auto read = sim::parse_trace(input, "trace");
  if (!read) return;
  SLUICE_CHECK(!read->jobs.empty() && read->jobs.front().submit_s == 0);
  for (const sim::TraceJob& job : read->jobs) {
    SLUICE_CHECK(job.submit_s >= 0 && job.run_s >= 0);
    (void)sim::limit_minutes(job);
  }
  (void)sim::work_of(*read);
  (void)sim::offered_load(*read, 64);
  sim::scale_to_load(*read, 0.9, 64);
  sim::set_requested_times(*read, sim::RequestedTime::kFactor, 1);
}

}  // namespace

std::vector<Target> file_targets() {
  return {{"slurmdbd_conf", slurmdbd_conf},
          {"flat_file", flat_file},
          {"archive", archive},
          {"trace", trace}};
}

}  // namespace sluice::fuzz
