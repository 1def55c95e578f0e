// What a mail about a job says: MailProg is called `-s SUBJECT ADDRESS`, with variables that tell
// the rest.
#pragma once

#include <map>
#include <string>

#include "common/model/cluster_config.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::ctld {

// "Slurm Job_id=5 Name=x Ended, Run time 00:00:10, COMPLETED, ExitCode 0"
[[nodiscard]] std::string mail_subject(const state::SendMail& mail);
// --mail-user as given; else the user, with MailDomain.
[[nodiscard]] std::string mail_address(const Job& job, const ClusterConfig& config);
[[nodiscard]] std::map<std::string, std::string> mail_environment(const state::SendMail& mail,
                                                                  const ClusterConfig& config);

}  // namespace sluice::ctld
