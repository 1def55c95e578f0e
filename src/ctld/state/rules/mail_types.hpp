// --mail-type: what a job's user wants to hear of.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/model/job_spec.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::state {

// Mails before the time limit is reached, the earliest first.
struct LimitMail {
  std::string_view type;
  uint32_t percent = 0;
  MailKind kind = MailKind::kTimeLimit;
};
inline constexpr std::array<LimitMail, 3> kLimitMails{
    {{"TIME_LIMIT_50", 50, MailKind::kTimeLimit50},
     {"TIME_LIMIT_80", 80, MailKind::kTimeLimit80},
     {"TIME_LIMIT_90", 90, MailKind::kTimeLimit90}}};

[[nodiscard]] inline bool wants_mail(const JobSpec& spec, std::string_view type) {
  const std::vector<std::string> types = split_list(spec.mail_type.view());
  return std::ranges::find(types, type) != types.end();
}

// --mail-user: addresses with commas between them. MailProg runs as the controller does, and takes
// what begins with "-" for an option, with "|" for a program, with "/" or "+" for a file: a word
// that is no name in a mailbox is none here.
[[nodiscard]] inline bool is_mail_list(std::string_view text) {
  constexpr std::string_view kInside = "._-+=@%'\\";
  const auto is_plain = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
  };
  bool begins = true;  // a word does
  for (const char c : text) {
    if (c == ',') {
      if (begins) return false;
      begins = true;
      continue;
    }
    const bool good = is_plain(static_cast<unsigned char>(c)) || c == '_' ||
                      (!begins && kInside.find(c) != std::string_view::npos);
    if (!good) return false;
    begins = false;
  }
  return !begins && is_printable(text);
}

}  // namespace sluice::state
