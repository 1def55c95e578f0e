// Control groups v1: a tree for each controller. The freezer's holds every process; the others are
// there when the setup names them.
#pragma once

#include "common/cgroup/tree.hpp"

namespace sluice::cgroup {

inline constexpr const char* kTracker = "freezer";
inline constexpr const char* kDevices = "devices";

class TreeV1 final : public Tree {
 public:
  explicit TreeV1(const protocol::CgroupSetup& setup) : Tree(setup) {}
  Status make(const std::string& group) override;
  [[nodiscard]] std::vector<std::string> entries(const std::string& group) const override;
  [[nodiscard]] Status enter(const std::string& group) override;
  Status set_cpus(const std::string& group, const Bitmap& cpus) override;
  Status set_memory(const std::string& group, const protocol::MemoryLimit& limit) override;
  [[nodiscard]] Status set_pids(const std::string& group, uint64_t most) override;
  [[nodiscard]] uint64_t fork_refusals(const std::string& group) const override;
  [[nodiscard]] Status close_devices(const std::string& group,
                                     const std::vector<DeviceFile>& devices) override;
  [[nodiscard]] uint64_t oom_kills(const std::string& group) const override;
  [[nodiscard]] GroupUsage usage(const std::string& group) const override;
  bool remove(const std::string& group) const override;

 protected:
  [[nodiscard]] std::string folder(const std::string& group) const override;
  void freeze(const std::string& group, bool frozen) const override;

 private:
  [[nodiscard]] Status make_with(const std::string& controller, const std::string& group) const;
  [[nodiscard]] std::string place(std::string_view controller, const std::string& group) const;
  [[nodiscard]] bool uses(std::string_view controller) const;
};

}  // namespace sluice::cgroup
