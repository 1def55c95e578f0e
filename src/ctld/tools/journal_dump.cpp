// journal_dump DIR: prints the events of the journal in DIR (StateSaveLocation/journal) as JSON
// lines, also while the controller runs. Fields that hold their default are left out.
//
//   {"sequence":7,"epoch":1,"time":"2026-…Z","event":"JobStarted","data":{…}}
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fmt/chrono.h>
#include <getopt.h>

#include "common/names/job_states.hpp"
#include "common/wire/json.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/journal/sqlite_reader.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace)

std::string utc_text(Time time) {
  const int64_t seconds = to_seconds(time);
  const auto micros = (time.time_since_epoch() - std::chrono::seconds(seconds)).count();
  const auto clock = static_cast<std::time_t>(seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(clock), micros);
}

struct Names {
  template <class T>
  std::optional<wire::Json> operator()(const T&) const {
    return std::nullopt;
  }
  std::optional<wire::Json> operator()(const Time& t) const {
    if (t == kNever) return "never";
    return utc_text(t);
  }
  std::optional<wire::Json> operator()(const JobState& v) const { return job_state_text(v); }
  std::optional<wire::Json> operator()(const JobReason& v) const { return reason_text(v); }
  std::optional<wire::Json> operator()(const StepState& v) const { return step_state_text(v); }
  std::optional<wire::Json> operator()(const NodeBaseState& v) const { return node_base_text(v); }
};

void print_line(const wire::Json& line) { std::puts(line.dump().c_str()); }

void print_event(const journal::Frame& frame, const state::Event& event) {
  wire::Json line;
  line["sequence"] = frame.sequence;
  line["epoch"] = frame.epoch;
  line["time"] = utc_text(frame.time);
  line["event"] = state::name_of(event);
  line["data"] = std::visit([](const auto& e) { return wire::to_json(e, Names{}); }, event);
  print_line(line);
}

Status dump(journal::JournalReader& reader, journal::Sequence from) {
  if (from == 0) {
    const Result<journal::Sequence> first = reader.first_sequence();
    if (!first) return tl::unexpected(first.error());
    from = *first;
  }
  Status decoded;
  const Status read = reader.read(from, [&](const journal::Frame& frame) {
    const Result<state::Events> events = journal::decode_frame(frame);
    if (!events) {
      decoded = tl::unexpected(events.error());
      return false;
    }
    for (const state::Event& event : *events) print_event(frame, event);
    return true;
  });
  return read ? decoded : read;
}

Status print_info(journal::JournalReader& reader) {
  const journal::StoreInfo& info = reader.info();
  const Result<journal::Sequence> first = reader.first_sequence();
  if (!first) return tl::unexpected(first.error());
  const Result<journal::Sequence> last = reader.last_sequence();
  if (!last) return tl::unexpected(last.error());
  const auto checkpoint = reader.load_latest_checkpoint();
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  wire::Json line;
  line["format"] = info.format;
  line["cluster_id"] = info.cluster_id;
  line["epoch"] = info.epoch;
  line["created"] = utc_text(info.created);
  line["first_sequence"] = *first;
  line["last_sequence"] = *last;
  if (*checkpoint) line["checkpoint"] = (*checkpoint)->sequence;
  print_line(line);
  return {};
}

int usage(FILE* to, int code) {
  fmt::print(to,
             "usage: journal_dump [--from SEQUENCE] [--info] DIR\n"
             "Prints the events of the journal in DIR (StateSaveLocation/journal) as JSON lines.\n"
             "  -f, --from SEQUENCE  start at this frame instead of the oldest kept\n"
             "  -i, --info           one line about the journal itself instead\n");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const option options[] = {{"from", required_argument, nullptr, 'f'},
                            {"info", no_argument, nullptr, 'i'},
                            {"help", no_argument, nullptr, 'h'},
                            {nullptr, 0, nullptr, 0}};
  journal::Sequence from = 0;
  bool info = false;
  for (int c = 0; (c = getopt_long(argc, argv, "f:ih", options, nullptr)) !=
                  -1;) {  // NOLINT(concurrency-mt-unsafe)
    if (c == 'f') from = std::strtoull(optarg, nullptr, 10);
    else if (c == 'i') info = true;
    else return c == 'h' ? usage(stdout, EXIT_SUCCESS) : usage(stderr, EXIT_FAILURE);
  }
  if (optind + 1 != argc) return usage(stderr, EXIT_FAILURE);
  const auto reader = journal::SqliteReader::open(argv[optind]);
  Status done;
  if (!reader) done = tl::unexpected(reader.error());
  else done = info ? print_info(**reader) : dump(**reader, from);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "journal_dump: {}\n", done.error().text);
  return EXIT_FAILURE;
}
