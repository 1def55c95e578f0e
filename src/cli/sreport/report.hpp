// One report of sreport: its words, its rows, and how they are printed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shared/accounting_client.hpp"
#include "common/protocol/accounting_usage.hpp"

namespace sluice::cli::sreport {

enum class TimeForm { kSeconds, kMinutes, kHours, kPercent, kSecPer, kMinPer, kHourPer };
enum class Parsable { kNo, kEnding, kNotEnding };

struct Session {
  bool all_clusters = false, header = true, quiet = false, quit = false;
  Parsable parsable = Parsable::kNo;
  TimeForm form = TimeForm::kMinutes;
  std::vector<std::string> clusters;  // -M
  std::vector<std::string> tres;      // -T
  std::optional<Client> client;
  int exit_code = 0;

  [[nodiscard]] Client* open();  // null: told
  bool fail(std::string_view line);
};

// "hour", "minper"; nothing where it is none.
[[nodiscard]] std::optional<TimeForm> time_form(std::string_view word);

// What the words of a report say.
struct Asked {
  protocol::QueryReportRequest request;
  std::vector<std::string> fields;
  bool tree = false, group = false, flat = false, as_parent = false, count_jobs = false;
  bool of_jobs = false;  // Jobs=, GID= and Nodes= are conditions
  bool refused = false;  // it names what is not there, which was told
  size_t top = 10;
};
using Words = std::vector<std::string>;

// Whether `word` is `name` or its beginning, of at least `least` letters, in either case.
[[nodiscard]] bool is(std::string_view word, std::string_view name, size_t least);
void read_words(Session& session, const Words& words, Asked& asked);
// Start and end as Slurm takes them: to the nearest hour, an hour at least, not beyond now.
void settle_times(Time start, Time end, Time now, protocol::QueryReportRequest& request);

// A column that a report has, and one that is shown. A width below 0 is to the left.
struct Column {
  std::string name, heading;
  int width;
};
using Line = std::map<std::string, std::string>;  // by the columns' names

struct Heading {
  std::string title;
  std::string units;  // empty: no such line
};
// Prints heading and lines. `usual`: the columns without format=; `all`: those that it may name.
void print_report(Session& session, const Asked& asked, const Heading& heading,
                  const std::vector<Column>& all, const std::vector<std::string>& usual,
                  const std::vector<Line>& lines);

// "123", "12.34%", "123(12.34%)": an amount times seconds, of `whole`.
[[nodiscard]] std::string amount_text(TimeForm form, uint64_t amount, uint64_t whole);

void cluster_report(Session& session, std::string_view report, const Words& words);
void user_report(Session& session, std::string_view report, const Words& words);
void job_report(Session& session, std::string_view report, const Words& words);
void reservation_report(Session& session, std::string_view report, const Words& words);

}  // namespace sluice::cli::sreport
