// helpers.conf: programs that say which features of a node are active, and make others active.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/time.hpp"

namespace sluice {

// One Feature line.
struct FeatureHelper {
  std::vector<std::string> nodes;  // empty: every node
  std::vector<std::string> features;
  // without an argument it prints the active ones, with one it makes that active
  std::string program;
  bool rebootless = false;  // the change is done when the program ends
  friend bool operator==(const FeatureHelper&, const FeatureHelper&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &FeatureHelper::nodes);
    field(2, "features", &FeatureHelper::features);
    field(3, "program", &FeatureHelper::program);
    field(4, "rebootless", &FeatureHelper::rebootless);
  }
};

struct HelpersConfig {
  std::vector<FeatureHelper> helpers;
  // "a,b,c" each: of these one at most is active on a node
  std::vector<std::string> exclusive;
  std::vector<std::string> allow_user_boot;  // whose jobs may change features; empty: everybody's
  // filled in by common/conf, which may ask the system for users
  std::vector<uint32_t> allow_user_boot_ids;
  // so long a node may take to come back with the features
  Duration boot_time = std::chrono::minutes(5);
  Duration exec_time = std::chrono::seconds(10);  // so long a program may run
  friend bool operator==(const HelpersConfig&, const HelpersConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "helpers", &HelpersConfig::helpers);
    field(2, "exclusive", &HelpersConfig::exclusive);
    field(3, "allow_user_boot", &HelpersConfig::allow_user_boot);
    field(4, "allow_user_boot_ids", &HelpersConfig::allow_user_boot_ids);
    field(5, "boot_time", &HelpersConfig::boot_time);
    field(6, "exec_time", &HelpersConfig::exec_time);
  }
};

}  // namespace sluice
