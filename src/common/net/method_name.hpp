// The method that a request calls stands in its struct:
//
//   struct SubmitJobRequest {
//     static constexpr std::string_view kMethod = "Controller/SubmitJob";  // service and name
//     using Reply = struct SubmitJobReply;  // of a stream: using Chunk = …
//
// Its path is gRPC's own, /sluice.v1.Controller/SubmitJob (proto/services.proto).
#pragma once

#include <string_view>
#include <type_traits>

namespace sluice::net {

inline constexpr std::string_view kPackage = "sluice.v1";

template <class Request>
constexpr std::string_view method_name() {
  return Request::kMethod;
}

// "SubmitJob" of "Controller/SubmitJob".
constexpr std::string_view short_method_name(std::string_view method) {
  return method.substr(method.find('/') + 1);  // npos + 1 is 0
}

// Whether what answers the request is what its struct says.
template <class Answer, class Request>
concept Answers = requires {
  requires std::is_same_v<Answer, typename Request::Reply>;
}
|| requires { requires std::is_same_v<Answer, typename Request::Chunk>; };

}  // namespace sluice::net
