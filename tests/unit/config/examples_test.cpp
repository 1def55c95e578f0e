// The examples that are installed can be read as they are.
#include "common/config_files/load.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(Examples, AreAllRead) {
  const test::TempFolder folder;
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator("etc")) {
    const fs::path name = entry.path().filename();
    if (name.extension() != ".example" || !name.stem().string().ends_with(".conf")) continue;
    ++files;
    fs::copy_file(entry.path(), folder.path() / name.stem());
  }
  EXPECT_EQ(files, 8U);
  const fs::path main = folder.path() / "slurm.conf";
  std::string text = text_of(main);
  const size_t user = text.find("SlurmUser=slurm");
  ASSERT_NE(user, std::string::npos);
  text.replace(user, 15, "SlurmUser=root ");  // who may not be there
  std::ofstream(main)
      << text
      << "GresTypes=gpu\nTopologyPlugin=topology/tree\nJobContainerType=job_container/tmpfs\n"
         "NodeFeaturesPlugins=node_features/helpers\nTaskPlugin=task/cgroup\n";
  std::vector<std::string> warnings;
  const auto config = load_config(main.string(), &warnings);
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->nodes.size(), 4U);
  EXPECT_TRUE(config->cgroup.constrain_cores);
  EXPECT_FALSE(config->gres_lines.empty());
  EXPECT_TRUE(config->without_effect.empty());
}

}  // namespace
}  // namespace sluice
