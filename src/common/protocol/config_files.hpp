// Configuration for nodes and commands that have no slurm.conf of their own. They ask Ping first,
// which anyone may: it says how identity is proved in this cluster, which they cannot know yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/model/config_file.hpp"

namespace sluice::protocol {

struct FetchConfigRequest {
  static constexpr std::string_view kMethod = "Controller/FetchConfig";
  using Reply = struct FetchConfigReply;
  template <class V>
  static void describe(V&&) {}
};
struct FetchConfigReply {
  std::vector<ConfigFile> files;
  std::string digest;  // RegisterNodeReply's config_digest while the controller has these files
  template <class V>
  static void describe(V&& field) {
    field(1, "files", &FetchConfigReply::files);
    field(2, "digest", &FetchConfigReply::digest);
  }
};

}  // namespace sluice::protocol
