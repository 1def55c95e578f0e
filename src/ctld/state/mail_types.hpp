// --mail-type: what a job's user wants to hear of.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/text.hpp"
#include "common/model/job_spec.hpp"
#include "ctld/state/effects.hpp"

namespace sluice::state {

// Mails before the time limit is reached, the earliest first.
struct LimitMail {
  std::string_view type;
  uint32_t percent = 0;
  MailKind kind = MailKind::kTimeLimit;
};
inline constexpr std::array<LimitMail, 3> kLimitMails{{{"TIME_LIMIT_50", 50, MailKind::kTimeLimit50},
                                                       {"TIME_LIMIT_80", 80, MailKind::kTimeLimit80},
                                                       {"TIME_LIMIT_90", 90, MailKind::kTimeLimit90}}};

[[nodiscard]] inline bool wants_mail(const JobSpec& spec, std::string_view type) {
  const std::vector<std::string> types = split_list(spec.mail_type.view());
  return std::ranges::find(types, type) != types.end();
}

}  // namespace sluice::state
