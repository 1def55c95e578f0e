// auth/munge: credentials of the host's munged, which says how long they hold at most. The key of
// an answer travels in the credential, which SlurmUser alone can decode.
#pragma once

#include "common/auth/auth.hpp"

namespace sluice::net {

[[nodiscard]] std::shared_ptr<AuthProvider> make_munge_auth(std::string socket, std::string cluster,
                                                            uint32_t slurm_user = 0,
                                                            // 0: munged's own
                                                            Duration lifetime = {});

// The error: there is no munged at this socket (empty: at munge's own) that makes a credential. One
// that hangs is waited for, 10 seconds long.
[[nodiscard]] Status munged_answers(const std::string& socket);

// The error of a refused credential. `problem` is a munge_err_t; the times are Unix seconds by the
// maker's and by this host's clock, 0 where unknown.
[[nodiscard]] Error munge_error(int problem, int64_t made_at, int64_t read_at);

}  // namespace sluice::net
