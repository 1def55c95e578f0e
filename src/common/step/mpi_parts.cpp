#include "common/step/mpi_parts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "common/wire/codec.hpp"

namespace sluice {

void send_mpi_parts(const protocol::MpiMessage& message,
                    const std::function<void(std::string_view)>& send) {
  if (message.data.size() <= kMpiPartBytes) return send(wire::encode(message));
  protocol::MpiMessage part = message;
  const std::string_view data = message.data;
  for (size_t start = 0; start < data.size(); start += kMpiPartBytes) {
    part.data = data.substr(start, kMpiPartBytes);
    part.more = start + kMpiPartBytes < data.size();
    send(wire::encode(part));
  }
}

Result<std::optional<protocol::MpiMessage>> MpiAssembler::take(std::string_view body) {
  auto part = wire::decode<protocol::MpiMessage>(body);
  if (!part) return tl::unexpected<Error>(part.error());
  if (!partial_) {
    partial_ = std::move(*part);
  } else {
    if (partial_->data.size() + part->data.size() > kMaxMpiBytes) {
      return failure(ErrorCode::kBadRequest, "an MPI message is too long");
    }
    partial_->data += part->data;
    partial_->more = part->more;
  }
  if (partial_->more) return std::nullopt;
  return std::exchange(partial_, std::nullopt);
}

}  // namespace sluice
