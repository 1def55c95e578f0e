#include "stepd/mpi/pmi_wire.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

constexpr size_t kLengthDigits = 6;
constexpr std::string_view kCommandKey = "cmd";
constexpr std::string_view kLongCommandKey = "mcmd";

tl::unexpected<Error> malformed() {
  return failure(ErrorCode::kBadRequest, "a malformed PMI request");
}

// Values may hold anything but the end of the line when they are the last field, "value".
PmiMessage parse_words(std::string_view line) {
  PmiMessage message;
  while (!line.empty()) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const size_t equals = line.find_first_of("= ");
    if (equals == std::string_view::npos || line[equals] == ' ') {  // a word without a value
      line.remove_prefix(std::min(equals, line.size()));
      continue;
    }
    const std::string_view key = line.substr(0, equals);
    const size_t end = key == "value" ? line.size() : std::min(line.find(' '), line.size());
    const std::string_view value = line.substr(equals + 1, end - equals - 1);
    if (key == kCommandKey || key == kLongCommandKey) {
      message.command = value;
    } else {
      message.add(key, value);
    }
    line.remove_prefix(end);
  }
  return message;
}

// Up to the next single semicolon, which is taken away too; a double one stands for one.
std::string take_text(std::string_view& rest) {
  std::string text;
  size_t i = 0;
  for (; i < rest.size(); ++i) {
    if (rest[i] == ';') {
      if (i + 1 >= rest.size() || rest[i + 1] != ';') break;
      ++i;
    }
    text += rest[i];
  }
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return text;
}

PmiMessage parse_counted(std::string_view rest) {
  PmiMessage message;
  while (!rest.empty()) {
    const std::string text = take_text(rest);
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = text.substr(0, equals);
    if (key == kCommandKey) {
      message.command = text.substr(equals + 1);
    } else {
      message.add(key, std::string_view(text).substr(equals + 1));
    }
  }
  return message;
}

}  // namespace

std::string_view PmiMessage::get(std::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (name == key) return value;
  }
  return {};
}

PmiMessage& PmiMessage::add(std::string_view key, std::string_view value) {
  fields.emplace_back(key, value);
  return *this;
}

std::string encode_pmi(const PmiMessage& message, PmiVersion version) {
  if (version == PmiVersion::kOne) {
    std::string line = fmt::format("cmd={}", message.command);
    for (const auto& [key, value] : message.fields) line += fmt::format(" {}={}", key, value);
    return line + "\n";
  }
  std::string text = fmt::format("cmd={};", message.command);
  for (const auto& [key, value] : message.fields) {
    text += key + "=";
    for (const char c : value) text.append(c == ';' ? 2 : 1, c);
    text += ';';
  }
  return fmt::format("{:6}{}", text.size(), text);
}

std::optional<std::string> PmiReader::take_line() {
  const size_t end = bytes_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  return line;
}

Result<std::optional<PmiMessage>> PmiReader::next_line() {
  while (auto line = take_line()) {
    if (!long_request_ && line->starts_with("mcmd=")) {
      long_request_ = parse_words(*line);
      long_bytes_ = 0;
      continue;
    }
    if (!long_request_) {
      PmiMessage message = parse_words(*line);
      if (message.command.empty()) return malformed();
      return message;
    }
    if (*line == "endcmd") { return std::exchange(long_request_, std::nullopt); }
    // the value is the rest: arguments have blanks
    const size_t equals = std::min(line->find('='), line->size());
    long_request_->add(line->substr(0, equals),
                       std::string_view(*line).substr(std::min(equals + 1, line->size())));
    long_bytes_ += line->size();
    if (long_bytes_ > kMaxPmiBytes) return malformed();
  }
  return bytes_.size() > kMaxPmiBytes ? Result<std::optional<PmiMessage>>(malformed())
                                      : std::optional<PmiMessage>();
}

Result<std::optional<PmiMessage>> PmiReader::next_counted() {
  if (bytes_.size() < kLengthDigits) return std::nullopt;
  const auto length = to_number<size_t>(trim(std::string_view(bytes_).substr(0, kLengthDigits)));
  if (!length || *length > kMaxPmiBytes) return malformed();
  if (bytes_.size() < kLengthDigits + *length) return std::nullopt;
  PmiMessage message = parse_counted(std::string_view(bytes_).substr(kLengthDigits, *length));
  bytes_.erase(0, kLengthDigits + *length);
  if (message.command.empty()) return malformed();
  return message;
}

Result<std::optional<PmiMessage>> PmiReader::next(PmiVersion version) {
  return version == PmiVersion::kOne ? next_line() : next_counted();
}

}  // namespace sluice::stepd
