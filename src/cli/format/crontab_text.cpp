#include "cli/format/crontab_text.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/syntax/cron_times.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kDirective = "#SCRON";
constexpr int kTimeFields = 5;

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

// The place after so many words and the blanks behind them.
size_t after_words(std::string_view text, int words) {
  size_t at = 0;
  for (int i = 0; i < words; ++i) {
    at = text.find_first_of(" \t", at);
    if (at == std::string_view::npos) return at;
    at = text.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return at;
  }
  return at;
}

tl::unexpected<Error> wrong(uint32_t line, std::string_view what) {
  return failure(ErrorCode::kBadRequest, fmt::format("line {}: {}", line, what));
}

Result<CrontabLine> parse_entry(uint32_t number, std::string_view line) {
  const size_t at = after_words(line, line[0] == '@' ? 1 : kTimeFields);
  if (at == std::string_view::npos) return wrong(number, "a time and a command are wanted");
  CrontabLine out;
  out.number = number;
  out.times = trim(line.substr(0, at));
  out.command = line.substr(at);
  const auto times = parse_cron_times(out.times);
  if (!times) return wrong(number, times.error().text);
  return out;
}

}  // namespace

Result<std::vector<CrontabLine>> parse_crontab(std::string_view text) {
  std::vector<CrontabLine> out;
  std::vector<std::pair<uint32_t, std::string>> options;
  std::map<std::string, std::string> variables;
  uint32_t number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.starts_with(kDirective) &&
        (line.size() == kDirective.size() || line[kDirective.size()] == ' ' ||
         line[kDirective.size()] == '\t')) {
      options.emplace_back(number, trim(line.substr(kDirective.size())));
      continue;
    }
    if (line.empty() || line[0] == '#') continue;
    const size_t equals = line.find('=');
    const std::string_view name = trim(line.substr(0, equals));
    if (equals != std::string_view::npos && is_name(name)) {
      variables[std::string(name)] = unquote(trim(line.substr(equals + 1)));
      continue;
    }
    auto entry = parse_entry(number, line);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    entry->options = std::exchange(options, {});
    entry->variables = variables;
    out.push_back(std::move(*entry));
  }
  return out;
}

}  // namespace sluice::cli
