// Texts that users type. What is taken is written and read again, and then is the same.
#include <string>

#include "common/base/bitmap.hpp"
#include "common/base/check.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/index_ops.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/gres.hpp"
#include "common/syntax/cron_times.hpp"
#include "common/syntax/licenses.hpp"
#include "ctld/fit/features.hpp"
#include "ctld/state/rules/dependency.hpp"
#include "ctld/state/rules/step/step_layout.hpp"
#include "ctld/state/rules/target.hpp"
#include "fuzz/targets.hpp"
#include "stepd/multi_prog.hpp"

namespace sluice::fuzz {
namespace {

void index_set(std::string_view input) {
  if (const auto set = IndexSet::parse(input)) {
    IndexSet again;
    SLUICE_CHECK(TextTraits<IndexSet>::from_text(set->to_text(), again) && again == *set);
    SLUICE_CHECK(without(*set, *set).empty() && (*set & *set) == *set);
  }
  (void)IndexSet::parse_tasks(input);
  IndexSet stored;
  (void)TextTraits<IndexSet>::from_text(input, stored);
  const auto spec = parse_array_spec(input, 1001);
  SLUICE_CHECK(!spec || (!spec->indexes.empty() && spec->indexes.back() < 1001));
  if (spec) (void)array_task_text(spec->indexes, spec->max_running);
}

// Two lists: what one takes from the other.
void index_sets(std::string_view input) {
  const size_t middle = input.find(';');
  if (middle == std::string_view::npos) return;
  const auto a = IndexSet::parse(input.substr(0, middle), 100'000);
  const auto b = IndexSet::parse(input.substr(middle + 1), 100'000);
  if (!a || !b) return;
  const IndexSet left = without(*a, *b);
  IndexSet both = *a;
  both.insert(*b);
  SLUICE_CHECK(!left.intersects(*b) && left.size() + (*a & *b).size() == a->size());
  SLUICE_CHECK(both.size() == left.size() + b->size());
}

void bitmap(std::string_view input) {
  const auto bits = Bitmap::from_text(input);
  SLUICE_CHECK(!bits || *Bitmap::from_text(bits->to_text()) == *bits);
}

void host_list(std::string_view input) {
  const auto names = expand_hosts(input);
  const auto count = count_hosts(input);
  SLUICE_CHECK(names.has_value() == count.has_value());
  if (!names) return;
  SLUICE_CHECK(names->size() == *count);
  const auto again = expand_hosts(fold_hosts(*names));
  SLUICE_CHECK(again && *again == *names);
  (void)fold_hosts_sorted(*names);
}

void features(std::string_view input) {
  const auto parsed = fit::parse_features(input);
  if (parsed) (void)fit::satisfies_any(*parsed, {"a", "b"});
}

void dependency(std::string_view input) {
  const auto parsed = state::parse_dependency(input);
  if (!parsed) return;
  const std::string text = state::format_dependency(*parsed);
  const auto again = state::parse_dependency(text);
  SLUICE_CHECK(again && state::format_dependency(*again) == text);
}

void target(std::string_view input) { (void)state::parse_target(input); }

void distribution(std::string_view input) {
  bool given = false;
  (void)state::parse_distribution(input, given, false);
}

void gres(std::string_view input) { (void)gres_items(input); }

void licenses(std::string_view input) { (void)parse_licenses(input); }

void cron_times(std::string_view input) {
  const auto times = parse_cron_times(input);
  if (times) (void)next_cron_time(*times, from_seconds(1'795'000'000));
}

void times(std::string_view input) {
  (void)parse_time(input, from_seconds(1'795'000'000));
  const auto minutes = parse_minutes(input);
  SLUICE_CHECK(!minutes || parse_minutes(format_minutes(*minutes)) == minutes);
  (void)parse_span(input);
}

void counts(std::string_view input) {
  (void)expand_counts(input);
  (void)parse_memory(input);
  (void)parse_count(input);
}

void multi_prog(std::string_view input) {
  (void)stepd::MultiProg(input, {0, 3, 7}).of_task(3, {"x"});
}

}  // namespace

std::vector<Target> text_targets() {
  return {{"index_set", index_set}, {"index_sets", index_sets},     {"bitmap", bitmap},
          {"host_list", host_list}, {"features", features},         {"dependency", dependency},
          {"target", target},       {"distribution", distribution}, {"gres", gres},
          {"licenses", licenses},   {"cron_times", cron_times},     {"times", times},
          {"counts", counts},       {"multi_prog", multi_prog}};
}

}  // namespace sluice::fuzz
