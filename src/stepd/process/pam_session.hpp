// UsePAM: the session of a job's user on this node while a step runs there, as /etc/pam.d/slurm
// describes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::stepd {

class PamSession {
 public:
  // Opens it in this process, and blocks as long as the modules take (see Deadline). libpam is
  // loaded for it: a step daemon that has no use for it must not pay for it at its start. What
  // modules gave this process for good (a login's number, a key ring) its tasks inherit; resource
  // limits they get by limits(), and this process keeps its own. The error's text names the call
  // that failed.
  [[nodiscard]] static Result<std::unique_ptr<PamSession>> open(const std::string& user,
                                                                const std::string& submit_host);

  // Closes it; blocks likewise.
  ~PamSession();
  PamSession(const PamSession&) = delete;
  PamSession& operator=(const PamSession&) = delete;

  // Those of the session, all of them: no task of it gets more. As in resource_limits.hpp.
  [[nodiscard]] const std::vector<uint64_t>& limits() const { return limits_; }

 private:
  struct Library;
  PamSession() = default;
  [[nodiscard]] Status begin(const std::string& user, const std::string& submit_host);

  std::unique_ptr<Library> library_;
  bool has_credentials_ = false;
  bool is_open_ = false;
  std::vector<uint64_t> limits_;
};

}  // namespace sluice::stepd
