// A folder that stands for the mount point of control groups. Groups are folders as in a real one;
// the files that the kernel would put into them are made by the test.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/protocol/stepd_start.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::testing {

class FakeMount {
 public:
  FakeMount() = default;
  FakeMount(const FakeMount&) = delete;
  FakeMount& operator=(const FakeMount&) = delete;

  void put(const std::string& file, const std::string& text) const {
    const std::filesystem::path at = std::filesystem::path(path_) / file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  [[nodiscard]] std::string get(const std::string& file) const {
    std::ifstream in(path_ + "/" + file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  [[nodiscard]] bool has(const std::string& file) const {
    return std::filesystem::exists(path_ + "/" + file);
  }
  void take_away(const std::string& file) const { std::filesystem::remove(path_ + "/" + file); }
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] protocol::CgroupSetup setup(uint32_t version,
                                            std::vector<std::string> controllers) const {
    protocol::CgroupSetup out;
    out.version = version;
    out.mountpoint = path_;
    out.root = "slurm_n1";
    out.controllers = std::move(controllers);
    return out;
  }

 private:
  const test::TempFolder folder_;
  const std::string path_ = folder_.path().string();
};

}  // namespace sluice::testing
