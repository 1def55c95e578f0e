#include "common/syntax/distribution.hpp"

#include <vector>

#include "common/base/text.hpp"

namespace sluice {

std::string distribution_of(std::string_view text, DistributionLevel level) {
  const auto levels = split(text.substr(0, text.find(',')), ':');
  const auto at = static_cast<size_t>(level);
  return at < levels.size() ? to_lower(levels[at]) : std::string();
}

std::string told_distribution(std::string_view text) {
  const size_t comma = text.find(',');
  std::vector<std::string> levels = split(to_lower(text.substr(0, comma)), ':');
  for (size_t at = 0; at < levels.size(); ++at) {
    if (levels[at] == "*") levels[at] = at == 0 ? "block" : at == 1 ? "cyclic" : levels[1];
  }
  const bool plane = text.find('=') != std::string_view::npos;
  const bool flags = comma != std::string_view::npos && !plane;
  return join(levels, ":") + (flags ? to_lower(text.substr(comma)) : std::string());
}

std::string shown_distribution(std::string_view text) {
  const auto name = [](std::string_view level) {
    return level == "cyclic"    ? "Cyclic"
           : level == "fcyclic" ? "FCyclic"
           : level.empty()      ? ""
                                : "Block";
  };
  const std::string told = told_distribution(text);
  const std::string nodes = distribution_of(told, DistributionLevel::kNodes);
  const std::string sockets = distribution_of(told, DistributionLevel::kSockets);
  if (nodes.starts_with("plane")) return "Plane";
  if (nodes == "arbitrary") return "arbitrary task distribution";
  std::string shown = name(nodes);
  if (!sockets.empty()) {
    shown.resize(1);
    shown.append(name(sockets)).append(name(distribution_of(told, DistributionLevel::kCores)));
  }
  if (told.ends_with(",nopack")) return shown + ",NoPack";
  return told.ends_with(",pack") ? shown + ",Pack" : shown;
}

}  // namespace sluice
