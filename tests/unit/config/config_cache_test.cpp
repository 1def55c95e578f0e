// What a controller sends, from its files to those on a node.
#include "common/config_files/config_cache.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/config_files/load.hpp"
#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

class ConfigCache : public ::testing::Test {
 protected:
  ConfigCache() { cache_ = (folder_ / "spool" / "conf-cache").string(); }
  std::string put(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(cache_))
      found.insert(entry.path().filename().string());
    return found;
  }
  test::TempFolder folder_;
  std::string cache_;
};

constexpr const char* kMain =
    "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=root\nSlurmdUser=root\n";

TEST_F(ConfigCache, FilesAreSentAsTheyAreUnlessTheyIncludeOthers) {
  const std::string main =
      put("site.conf", std::string("# ours\n") + kMain + "Include nodes.d/*.conf\nInclude " +
                           (folder_ / "parts.conf").string() + "\n");
  put("nodes.d/a.conf", "NodeName=a # with a comment\nInclude more.conf\n");
  put("nodes.d/b.conf", "NodeName=b\\\n CPUs=2\n");
  put("more.conf", "NodeName=c\n");
  put("parts.conf", "PartitionName=p Nodes=ALL\n");
  put("gres.conf", "# nothing yet\n");
  put("unread.conf", "x\n");
  const auto files = read_config_files(main);
  ASSERT_TRUE(files) << files.error().text;
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].name, "slurm.conf");
  EXPECT_EQ((*files)[0].text.find("Include"), std::string::npos) << (*files)[0].text;
  EXPECT_EQ((*files)[1], (ConfigFile{"gres.conf", "# nothing yet\n"}));

  const auto here = load_config(main);
  const auto there = load_config(*files, "/etc/slurm/slurm.conf");
  ASSERT_TRUE(here) << here.error().text;
  ASSERT_TRUE(there) << there.error().text;
  EXPECT_EQ(there->config_path, "/etc/slurm/slurm.conf");
  ASSERT_EQ(there->nodes.size(), 3U);
  EXPECT_EQ(there->nodes, here->nodes);
  EXPECT_EQ(there->partitions, here->partitions);
}

TEST_F(ConfigCache, FilesThatAreNotThereHaveNoEffect) {
  const auto without = load_config({{"slurm.conf", kMain}}, "/nowhere/slurm.conf");
  ASSERT_TRUE(without) << without.error().text;
  EXPECT_FALSE(without->cgroup.present);
  const auto with = load_config({{"slurm.conf", kMain}, {"cgroup.conf", "ConstrainCores=yes\n"}},
                                "/nowhere/slurm.conf");
  ASSERT_TRUE(with) << with.error().text;
  EXPECT_TRUE(with->cgroup.constrain_cores);
}

TEST_F(ConfigCache, WhatWasSentReadsNoFileOfThisHost) {
  const std::string secret = put("secret", "NodeName=a\n");
  const auto config = load_config({{"slurm.conf", std::string(kMain) + "Include " + secret + "\n"}},
                                  "/etc/slurm/slurm.conf");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().text, "slurm.conf:5: a configuration that was sent includes no files");
  EXPECT_FALSE(load_config({{"slurm.conf", kMain}, {"../x.conf", ""}}, "/etc/slurm/slurm.conf"));
}

TEST_F(ConfigCache, AFileThatIsTooLargeIsNotSent) {
  const std::string main = put("slurm.conf", kMain);
  put("gres.conf", std::string(kMostConfigFileBytes + 1, '#'));
  const auto files = read_config_files(main);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().text.find("gres.conf has 16777217 bytes"), std::string::npos)
      << files.error().text;
  EXPECT_FALSE(read_config_files((folder_ / "gone.conf").string()));
}

TEST_F(ConfigCache, HoldsWhatWasSentLast) {
  ASSERT_TRUE(store_config_files(
      cache_, {{"slurm.conf", "A=1\n"}, {"gres.conf", "B=1\n"}, {"cgroup.conf", ""}}));
  EXPECT_EQ(names(), (std::set<std::string>{"slurm.conf", "gres.conf", "cgroup.conf"}));
  struct stat status {};
  ASSERT_EQ(::stat((cache_ + "/slurm.conf").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
  ASSERT_EQ(::stat(cache_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);

  ASSERT_TRUE(set_link(cache_ + "/slurm.key", "/etc/slurm/slurm.key"));
  const std::string open_before = cache_ + "/slurm.conf";
  std::ifstream reader(open_before);  // finishes the file that it began
  ASSERT_TRUE(store_config_files(cache_, {{"slurm.conf", "A=2\n"}, {"gres.conf", "B=2\n"}}));
  std::string line;
  std::getline(reader, line);
  EXPECT_EQ(line, "A=1");
  EXPECT_EQ(names(), (std::set<std::string>{"slurm.conf", "gres.conf", "slurm.key"}));
  EXPECT_EQ(text_of(cache_ + "/slurm.conf"), "A=2\n");
  EXPECT_EQ(text_of(cache_ + "/gres.conf"), "B=2\n");
}

TEST_F(ConfigCache, NothingOfABadSetIsWritten) {
  ASSERT_TRUE(store_config_files(cache_, {{"slurm.conf", "A=1\n"}}));
  const Status refused =
      store_config_files(cache_, {{"slurm.conf", "A=2\n"}, {"../out.conf", "x"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(text_of(cache_ + "/slurm.conf"), "A=1\n");
  EXPECT_FALSE(fs::exists(folder_ / "spool" / "out.conf"));
}

TEST_F(ConfigCache, AFolderThatCannotBeMadeIsAnError) {
  put("spool", "a file");
  const Status refused = store_config_files(cache_, {{"slurm.conf", ""}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find(cache_), std::string::npos) << refused.error().text;
}

TEST_F(ConfigCache, ALinkReplacesLinksOnly) {
  const std::string link = (folder_ / "run" / "conf").string();
  ASSERT_TRUE(set_link(link, "/one"));
  ASSERT_TRUE(set_link(link, "/two"));
  EXPECT_EQ(fs::read_symlink(link), "/two");
  const std::string file = put("kept", "x");
  EXPECT_FALSE(set_link(file, "/two"));
  EXPECT_EQ(text_of(file), "x");
}

}  // namespace
}  // namespace sluice
