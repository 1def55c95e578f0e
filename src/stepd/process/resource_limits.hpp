// Limits of resources, as messages carry them: (soft, hard) by RLIMIT_ number. A soft limit above
// the hard one stands for "not given"; numbers that are missing at the end are not given, either.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::stepd {

// Those of this process, all of them.
[[nodiscard]] std::vector<uint64_t> own_limits();

// Gives this process those that are given. One whose hard limit may not be raised so far gets as
// much as it may have.
void set_limits(const std::vector<uint64_t>& limits);

// What a task gets that asks for `wanted` where `bounds` (all of them) hold: soft limits alone are
// asked for, none is above the hard one there, and what is not asked for is as there.
[[nodiscard]] std::vector<uint64_t> limits_within(const std::vector<uint64_t>& wanted,
                                                  const std::vector<uint64_t>& bounds);

// Of all limits: a process leaves as long a core file as it may, whatever the daemon does itself.
void raise_core_limit(std::vector<uint64_t>& limits);

// Of all limits: the soft and the hard one of resident memory, which nothing enforces but programs
// ask for.
void set_resident_limit(std::vector<uint64_t>& limits, uint64_t bytes);

}  // namespace sluice::stepd
