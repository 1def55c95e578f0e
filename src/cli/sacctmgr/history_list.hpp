// What the lists of history have in common (events, reservations, runaway jobs): their words, and
// tables of texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/sacctmgr/session.hpp"
#include "common/protocol/accounting_usage.hpp"

namespace sluice::cli::sacctmgr {

struct TextColumn {
  std::string name, heading;
  int width;         // below 0: to the left
  size_t least = 1;  // letters that name it
};
using TextLine = std::map<std::string, std::string>;

// The columns that format= names, of `all`; false where one is none (then it was told).
bool choose_columns(Session& session, const std::vector<std::string>& fields,
                    std::vector<TextColumn>& all);
struct TextTable {
  const char* key;  // of the list in a document
  const std::vector<TextColumn>& columns;
  size_t usual = columns.size();  // the first of them that are printed
};
// With --json and --yaml a document: Slurm has none of these lists, so keys are the names of the
// columns in lower case, and values are what the table would have.
void print_table(const Session& session, const TextTable& table,
                 const std::vector<TextLine>& lines);

struct HistoryWords {
  protocol::QueryReportRequest request;
  std::vector<std::string> fields, ids, nodes, states, reasons, users;
  bool open_only = false;
  // of events
  bool of_clusters = true, of_nodes = true;
  uint64_t least_cpus = 0, most_cpus = UINT64_MAX;
};
// False where a word is none (then it was told).
bool read_history_words(Session& session, const Words& words, HistoryWords& out);

[[nodiscard]] std::string end_text(Time end);  // "Unknown": not yet

}  // namespace sluice::cli::sacctmgr
