// One request to many nodes, passed on in a tree (common/rpc/fanout.hpp), and what each of them
// answered.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error_code.hpp"
#include "common/base/time.hpp"

namespace sluice::protocol {

struct FanoutTarget {
  std::string node;
  std::string address;  // "host:port"
  // NOLINTNEXTLINE(modernize-use-nullptr): no pointer is there
  friend auto operator<=>(const FanoutTarget&, const FanoutTarget&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &FanoutTarget::node);
    field(2, "address", &FanoutTarget::address);
  }
};

struct FanoutResult {
  std::string node;
  ErrorCode code = ErrorCode::kOk;
  std::string text;   // of the error
  std::string reply;  // bytes of the method's reply
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &FanoutResult::node);
    field(2, "code", &FanoutResult::code);
    field(3, "text", &FanoutResult::text);
    field(4, "reply", &FanoutResult::reply);
  }
};

struct FanoutReply {
  std::vector<FanoutResult> results;  // one for each target, in no order
  template <class V>
  static void describe(V&& field) {
    field(1, "results", &FanoutReply::results);
  }
};

struct FanoutRequest {
  static constexpr std::string_view kMethod = "NodeAgent/Fanout";
  using Reply = struct FanoutReply;
  std::vector<FanoutTarget> targets;  // when sent, the first is the receiver
  std::string method;                 // run on each target
  std::string payload;                // its request, already encoded
  uint32_t tree_width = 16;
  Duration node_timeout = std::chrono::seconds(10);  // for one level of the tree
  template <class V>
  static void describe(V&& field) {
    field(1, "targets", &FanoutRequest::targets);
    field(2, "method", &FanoutRequest::method);
    field(3, "payload", &FanoutRequest::payload);
    field(4, "tree_width", &FanoutRequest::tree_width);
    field(5, "node_timeout", &FanoutRequest::node_timeout);
  }
};

}  // namespace sluice::protocol
