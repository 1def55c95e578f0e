// Control groups v1: a tree for each controller. The freezer's holds every process; the others are
// there when the setup names them.
#pragma once

#include "common/cgroup/tree.hpp"

namespace sluice::cgroup {

inline constexpr const char* kDevices = "devices";

class TreeV1 final : public Tree {
 public:
  explicit TreeV1(const protocol::CgroupSetup& setup)
      : Tree(setup, {.limit = "memory.limit_in_bytes",
                     .swap_limit = "memory.memsw.limit_in_bytes",
                     .swap_limit_is_of_both = true,
                     .swappiness = "memory.swappiness"}) {}
  Status make(const std::string& group) override;
  [[nodiscard]] std::vector<std::string> entries(const std::string& group) const override;
  [[nodiscard]] Status close_devices(const std::string& group,
                                     const std::vector<DeviceFile>& devices) override;
  [[nodiscard]] uint64_t oom_kills(const std::string& group) const override;
  [[nodiscard]] GroupUsage usage(const std::string& group) const override;
  void freeze(const std::string& group, bool frozen) const override;
  bool remove(const std::string& group) const override;

 protected:
  [[nodiscard]] std::string place(std::string_view controller,
                                  const std::string& group) const override;
  [[nodiscard]] Status make_for(const std::string& controller, const std::string& group) override;

 private:
  void add_cpu(const std::string& group, GroupUsage& sum) const;
};

}  // namespace sluice::cgroup
