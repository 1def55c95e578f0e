// Parses configuration text in tests, without any file.
#pragma once

#include <map>
#include <string>

#include "common/config/conf_parse.hpp"

namespace sluice::tables {

inline constexpr const char* kSmallest = "ClusterName=demo\nSlurmctldHost=vm\n";

// The lines of `text` as /etc/slurm.conf; `included` gives the text of what Include names.
inline Result<std::vector<ConfLine>> lines_of(
    const std::string& text, const std::map<std::string, std::string>& included = {}) {
  return conf_lines(
      {"/etc/slurm.conf", text},
      [&](const std::string& path, const std::string&) -> Result<std::vector<ConfSource>> {
        const auto found = included.find(path);
        if (found == included.end()) return failure(path + ": No such file");
        return std::vector<ConfSource>{{path, found->second}};
      });
}

inline Result<ParsedConfig> parse(const std::string& text,
                                  const std::map<std::string, std::string>& included = {}) {
  const auto lines = lines_of(text, included);
  if (!lines) return tl::unexpected(lines.error());
  return parse_slurm_conf(*lines);
}

// What `lines` says behind the smallest configuration there can be; two lines stand before it.
inline ClusterConfig config_of(const std::string& lines) {
  Result<ParsedConfig> parsed = parse(kSmallest + lines);
  if (!parsed) throw std::runtime_error(parsed.error().text);
  return parsed->config;
}
inline std::string error_of(const std::string& lines) {
  const Result<ParsedConfig> parsed = parse(kSmallest + lines);
  return parsed ? "" : parsed.error().text;
}

}  // namespace sluice::tables
