// How a step's daemon and the srun (or sattach) that listens for it know each other: both have the
// key that srun made for this step, and neither sends it. Whoever took the port of a dead srun
// learns nothing, and gets no output.
//
//   daemon -> srun   kHello, with a number of the daemon's own
//   srun -> daemon   kChallenge: a number of srun's own, and the proof that srun has the key
//   daemon -> srun   kProof: that the daemon has it. Output follows at once: this costs no round
//   trip more
//
// Each proof is an HMAC over who makes it, the whole hello, and srun's number: it is of no use in
// another connection, nor in the other direction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr size_t kIoNonceBytes = 32;
// a longer one ends the connection of who has not proved himself yet
inline constexpr uint32_t kMaxUnprovedFrame = 4096;

enum class IoSide { kSrun, kDaemon };

// `hello` is the body of kHello as it was sent.
[[nodiscard]] std::string io_proof(IoSide side, std::string_view key, std::string_view hello,
                                   std::string_view nonce);
// Whether `proof` is that one. Never for an empty key.
[[nodiscard]] bool is_io_proof(std::string_view proof, IoSide side, std::string_view key,
                               std::string_view hello, std::string_view nonce);
[[nodiscard]] std::string make_io_nonce();

}  // namespace sluice
