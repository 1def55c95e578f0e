// The words about a lost node in JobWatchUpdate::message: what watches the job prints them behind
// its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::protocol {

inline constexpr std::string_view kNodeFailure = "error: Node failure on ";

[[nodiscard]] inline std::string node_failure(std::string_view node) {
  return std::string(kNodeFailure).append(node);
}

// The node that a message is about, if it is such a one.
[[nodiscard]] inline std::optional<std::string_view> failed_node(std::string_view message) {
  if (!message.starts_with(kNodeFailure)) return std::nullopt;
  return message.substr(kNodeFailure.size());
}

}  // namespace sluice::protocol
