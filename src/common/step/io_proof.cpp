#include "common/step/io_proof.hpp"

#include "common/auth/crypto.hpp"

namespace sluice {

std::string io_proof(IoSide side, std::string_view key, std::string_view hello,
                     std::string_view nonce) {
  const std::string_view who =
      side == IoSide::kSrun ? "sluice step output: srun" : "sluice step output: daemon";
  return net::hmac_sha256(key, net::sha256_of({who, hello, nonce}));
}

bool is_io_proof(std::string_view proof, IoSide side, std::string_view key, std::string_view hello,
                 std::string_view nonce) {
  return !key.empty() && nonce.size() == kIoNonceBytes &&
         net::same_secret(proof, io_proof(side, key, hello, nonce));
}

std::string make_io_nonce() { return net::random_bytes(kIoNonceBytes); }

}  // namespace sluice
