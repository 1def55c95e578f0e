#include "common/net/grpc_reply.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "common/net/call_status.hpp"
#include "common/net/metadata_text.hpp"

namespace sluice::net {
namespace {

constexpr size_t kPrefixBytes = 5;  // compressed or not, and the length, before each message

size_t length_in(std::string_view prefix) {
  size_t length = 0;
  for (const char byte : prefix.substr(1, 4)) length = length << 8 | static_cast<uint8_t>(byte);
  return length;
}

}  // namespace

std::string grpc_frame(std::string message) {
  std::string prefix(1, '\0');
  for (const int shift : {24, 16, 8, 0})
    prefix += static_cast<char>(message.size() >> shift & 0xff);
  message.insert(0, prefix);
  return message;
}

void GrpcReply::add_header(std::string_view key, std::string_view value) {
  if (key == ":status") http_status_ = value;
  else if (key == "grpc-message") status_message_ = percent_decoded(value);
  else if (key == "grpc-status-details-bin") status_details_ = from_base64(value);
  else if (key == kSignatureKey) signature_ = from_base64(value);
  else if (key == "grpc-status")
    std::from_chars(value.data(), value.data() + value.size(), status_);
}

void GrpcReply::add_body(std::string_view bytes) {
  if (ended_) return;
  received_.append(bytes);
  size_t at = 0;
  while (received_.size() - at >= kPrefixBytes) {
    const std::string_view prefix(received_.data() + at, kPrefixBytes);
    const size_t length = length_in(prefix);
    if (prefix[0] != 0) return fail(ErrorCode::kNotSupported, "a compressed reply");
    if (length > max_message_) {
      return fail(ErrorCode::kBadRequest,
                  fmt::format("a reply of {} bytes is over the limit", length));
    }
    if (received_.size() - at - kPrefixBytes < length) break;
    messages_.push_back(received_.substr(at + kPrefixBytes, length));
    at += kPrefixBytes + length;
  }
  received_.erase(0, at);
}

void GrpcReply::close(std::string_view reset) {
  if (ended_) return;
  if (status_ == 0) ended_ = true;
  else if (status_ > 0)
    fail(to_error({static_cast<StatusCode>(status_), status_message_, status_details_}, true,
                  address_));
  else if (!http_status_.empty() && http_status_ != "200")
    fail(ErrorCode::kError, "HTTP status " + http_status_);
  else fail(ErrorCode::kConnectionLost, reset);
}

void GrpcReply::fail(ErrorCode code, std::string_view why) {
  fail({code, fmt::format("{}: {}", address_, why)});
}

void GrpcReply::fail(Error error) {
  if (ended_) return;
  ended_ = true;
  error_ = std::move(error);
}

bool GrpcReply::take(std::string& message) {
  if (messages_.empty()) return false;
  message = std::move(messages_.front());
  messages_.pop_front();
  return true;
}

}  // namespace sluice::net
