// Splits configuration text into logical lines and pairs.
#include "common/config/conf_syntax.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::tables {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// Up to the first `#` that no backslash hides; `\#` becomes `#`.
std::string without_comment(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') break;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '#') ++i;
    out += text[i];
  }
  return out;
}

std::vector<ConfLine> logical_lines(const ConfSource& source) {
  std::vector<ConfLine> lines;
  ConfLine line{source.file, 0, {}};
  uint32_t number = 0;
  const auto finish = [&] {
    line.text = std::string(trim(line.text));
    if (!line.text.empty()) lines.push_back(line);
    line.text.clear();
  };
  std::string_view all = source.text;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (all.starts_with(kByteOrderMark)) all.remove_prefix(kByteOrderMark.size());
  for (size_t start = 0; start < all.size();) {
    const size_t end = std::min(all.find('\n', start), all.size());
    std::string_view raw = all.substr(start, end - start);
    start = end + 1;
    ++number;
    if (line.text.empty()) line.number = number;
    while (!raw.empty() && is_blank(raw.back())) raw.remove_suffix(1);
    std::string text = without_comment(raw);
    // an even number of backslashes at the end are backslashes
    const size_t last = text.find_last_not_of('\\');
    const size_t slashes = text.size() - (last == std::string::npos ? 0 : last + 1);
    const bool goes_on = slashes % 2 == 1;
    if (goes_on) text.pop_back();  // as Slurm does: a list may be broken behind a comma
    line.text += text;
    if (!goes_on || line.text.size() > kMaxConfLine) finish();
  }
  finish();
  return lines;
}

// What an Include line names; empty for any other line.
std::string include_path(const ConfLine& line) {
  constexpr std::string_view kWord = "include";
  const std::string_view text = line.text;
  if (!starts_with_i(text, kWord) || text.size() == kWord.size()) return {};
  std::string_view rest = text.substr(kWord.size());
  if (!is_blank(rest.front()) && rest.front() != '=') return {};
  rest = trim(rest);
  if (rest.starts_with('=')) rest = trim(rest.substr(1));
  return std::string(unquote(rest));
}

struct Gatherer {
  const ConfInclude& include;
  std::vector<std::string>* lacking;
  std::vector<ConfLine> lines;
  std::string cluster;

  Status add(const ConfSource& source, int depth) {
    for (const ConfLine& line : logical_lines(source)) {
      if (line.text.size() > kMaxConfLine) return conf_failure(line, "the line is too long");
      std::string path = include_path(line);
      if (path.empty()) {
        notice_cluster(line);
        lines.push_back(line);
        continue;
      }
      if (depth == kMaxIncludeDepth) return conf_failure(line, "too many files include each other");
      for (size_t at = path.find("%c"); at != std::string::npos;
           at = path.find("%c", at + cluster.size())) {
        path.replace(at, 2, cluster);
      }
      const Result<std::vector<ConfSource>> included = include(path, source.file);
      if (!included) {
        Status failed = conf_failure(line, included.error().text);
        if (lacking == nullptr) return failed;
        append_errors(*lacking, failed);
        continue;
      }
      for (const ConfSource& one : *included) {
        if (Status status = add(one, depth + 1); !status) return status;
      }
    }
    return {};
  }

  void notice_cluster(const ConfLine& line) {
    if (!starts_with_i(line.text, "clustername")) return;
    if (const auto pairs = conf_pairs(line); pairs && iequals(pairs->front().key, "ClusterName")) {
      cluster = to_lower(pairs->front().value);
    }
  }
};

// Reads `Key = value` from `at` on; a value ends at a blank outside quotes.
struct PairReader {
  const ConfLine& line;
  std::string_view text;
  size_t at = 0;

  void skip_blanks() {
    while (at < text.size() && is_blank(text[at])) ++at;
  }
  Result<ConfPair> next() {
    const size_t start = at;
    while (at < text.size() && !is_blank(text[at]) && text[at] != '=') ++at;
    ConfPair pair{std::string(text.substr(start, at - start)), {}};
    skip_blanks();
    if (pair.key.empty() || at == text.size() || text[at] != '=') {
      if (pair.key.empty()) ++at;
      return conf_failure(line,
                          fmt::format("KEY=VALUE is wanted at \"{}\"", text.substr(start, 60)));
    }
    ++at;
    skip_blanks();
    char quote = '\0';
    for (; at < text.size() && (quote || !is_blank(text[at])); ++at) {
      if (text[at] == quote) quote = '\0';
      else if (!quote && text[at] == '"') quote = '"';
      else pair.value += text[at];
    }
    if (quote) return conf_failure(line, fmt::format("the quote after {}= does not end", pair.key));
    return pair;
  }
};

}  // namespace

tl::unexpected<Error> conf_failure(const ConfLine& line, std::string_view text) {
  if (line.file.empty()) return failure(ErrorCode::kInvalidConfig, std::string(text));
  return failure(ErrorCode::kInvalidConfig, fmt::format("{}:{}: {}", line.file, line.number, text));
}

Result<std::vector<ConfLine>> conf_lines(const ConfSource& source, const ConfInclude& include,
                                         std::vector<std::string>* lacking) {
  Gatherer gatherer{include, lacking, {}, {}};
  if (Status status = gatherer.add(source, 0); !status) return tl::unexpected(status.error());
  return std::move(gatherer.lines);
}

std::string conf_text(const std::vector<ConfLine>& lines) {
  std::string out;
  std::string_view file;
  for (const ConfLine& line : lines) {
    if (line.file != file) {
      file = line.file;
      out += "# ";
      for (const char c : file) out += c == '\n' ? ' ' : c;
      out += '\n';
    }
    for (const char c : line.text) {
      if (c == '#') out += '\\';
      out += c;
    }
    if (line.text.ends_with('\\')) out += " #";  // else it might join the next line
    out += '\n';
  }
  return out;
}

Result<std::vector<ConfPair>> conf_pairs(const ConfLine& line) {
  std::vector<ConfPair> pairs;
  if (Status status = read_conf_pairs(line, pairs); !status) return tl::unexpected(status.error());
  return pairs;
}

Status read_conf_pairs(const ConfLine& line, std::vector<ConfPair>& pairs) {
  ConfErrors errors;
  bool follows_another = false;  // of words in a row that are no pairs the first is told
  PairReader reader{line, line.text};
  for (reader.skip_blanks(); reader.at < reader.text.size(); reader.skip_blanks()) {
    Result<ConfPair> pair = reader.next();
    if (pair) pairs.push_back(std::move(*pair));
    else if (!follows_another) errors.add(tl::unexpected(pair.error()));
    follows_another = !pair;
  }
  return errors.status();
}

void ConfErrors::add(const Status& status) {
  if (status) return;
  if (!text_.empty()) text_ += '\n';
  text_ += status.error().text;
}

Status ConfErrors::status() const {
  if (text_.empty()) return {};
  return failure(ErrorCode::kInvalidConfig, text_);
}

void append_errors(std::vector<std::string>& errors, const Status& status) {
  if (status) return;
  for (std::string& line : split(status.error().text, '\n')) errors.push_back(std::move(line));
}

}  // namespace sluice::tables
