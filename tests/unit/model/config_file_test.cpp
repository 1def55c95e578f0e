// What may be sent as configuration, and be written where it arrives.
#include "common/model/config_file.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ConfigFile, NamesLeadOutOfNoFolder) {
  for (const char* good : {"slurm.conf", "gres.conf", "job_container.conf", "my-site.2.conf"}) {
    EXPECT_TRUE(is_config_file_name(good)) << good;
  }
  for (const char* bad : {"", ".conf", "..", "../slurm.conf", "/etc/cron.d/x.conf", "a/b.conf",
                          ".hidden.conf", "slurm.key", "slurm.conf ", "slurm.conf\n", "a\\b.conf",
                          "sl urm.conf", "conf", "slurm.conf.new"}) {
    EXPECT_FALSE(is_config_file_name(bad)) << bad;
  }
  EXPECT_FALSE(is_config_file_name(std::string("slurm\0.conf", 11)));
  EXPECT_FALSE(is_config_file_name(std::string(60, 'x') + ".conf"));
}

std::string why(const std::vector<ConfigFile>& files) {
  const Status ok = check_config_files(files);
  return ok ? "" : ok.error().text;
}

TEST(ConfigFile, ASetIsCheckedAsAWhole) {
  const ConfigFile main{"slurm.conf", "ClusterName=demo\n"};
  EXPECT_EQ(why({main}), "");
  EXPECT_EQ(why({main, {"gres.conf", ""}}), "");
  EXPECT_EQ(why({}), "there is no slurm.conf among the configuration files");
  EXPECT_EQ(why({{"gres.conf", ""}}), "there is no slurm.conf among the configuration files");
  EXPECT_EQ(why({main, main}), "slurm.conf comes twice");
  EXPECT_EQ(why({main, {"../../etc/passwd", "x"}}),
            "\"../../etc/passwd\" is no name for a configuration file");
  EXPECT_EQ(why({main, {"gres.conf", std::string(kMostConfigFileBytes, '#')}}), "");
  EXPECT_EQ(why({main, {"gres.conf", std::string(kMostConfigFileBytes + 1, '#')}}),
            "gres.conf has 16777217 bytes, at most 16777216 are allowed");
}

TEST(ConfigFile, ThereAreBoundsForAllTogether) {
  std::vector<ConfigFile> many{{"slurm.conf", ""}};
  for (size_t i = 1; i < kMostConfigFiles; ++i)
    many.push_back({"f" + std::to_string(i) + ".conf", ""});
  EXPECT_EQ(why(many), "");
  many.push_back({"last.conf", ""});
  EXPECT_EQ(why(many), "65 configuration files, at most 64 are allowed");
  const std::string half(kMostConfigFileBytes, '#');
  EXPECT_EQ(why({{"slurm.conf", half}, {"a.conf", half}, {"b.conf", half}, {"c.conf", "#"}}),
            "the configuration has 50331649 bytes, at most 50331648 are allowed");
}

TEST(ConfigFile, IsFoundByItsName) {
  const std::vector<ConfigFile> files{{"slurm.conf", "a"}, {"gres.conf", "b"}};
  ASSERT_NE(find_config_file(files, "gres.conf"), nullptr);
  EXPECT_EQ(*find_config_file(files, "gres.conf"), "b");
  EXPECT_EQ(find_config_file(files, "cgroup.conf"), nullptr);
}

}  // namespace
}  // namespace sluice
