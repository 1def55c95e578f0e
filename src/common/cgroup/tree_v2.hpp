// Control groups v2: one tree for all controllers, which each group passes on to those below it.
#pragma once

#include "common/cgroup/tree.hpp"

namespace sluice::cgroup {

class TreeV2 final : public Tree {
 public:
  explicit TreeV2(const protocol::CgroupSetup& setup)
      : Tree(setup, {.limit = "memory.max",
                     .swap_limit = "memory.swap.max",
                     .swap_limit_is_of_both = false,
                     .swappiness = nullptr}) {}
  Status make(const std::string& group) override;
  [[nodiscard]] std::vector<std::string> entries(const std::string& group) const override;
  [[nodiscard]] Status close_devices(const std::string& group,
                                     const std::vector<DeviceFile>& devices) override;
  [[nodiscard]] uint64_t oom_kills(const std::string& group) const override;
  [[nodiscard]] GroupUsage usage(const std::string& group) const override;
  void kill(const std::string& group) const override;
  void freeze(const std::string& group, bool frozen) const override;
  bool remove(const std::string& group) const override;

 protected:
  [[nodiscard]] std::string place(std::string_view controller,
                                  const std::string& group) const override;
  [[nodiscard]] Status make_for(const std::string& /*controller*/,
                                const std::string& group) override {
    return make(group);
  }
};

}  // namespace sluice::cgroup
