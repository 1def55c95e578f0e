// Control groups v2: one tree for all controllers, which each group passes on to those below it.
#pragma once

#include "common/cgroup/tree.hpp"

namespace sluice::cgroup {

class TreeV2 final : public Tree {
 public:
  explicit TreeV2(const protocol::CgroupSetup& setup) : Tree(setup) {}
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
  void kill(const std::string& group) const override;
  bool remove(const std::string& group) const override;

 protected:
  [[nodiscard]] std::string folder(const std::string& group) const override;
  void freeze(const std::string& group, bool frozen) const override;

 private:
  [[nodiscard]] bool uses(std::string_view controller) const;
};

}  // namespace sluice::cgroup
