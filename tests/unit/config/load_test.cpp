// Files on disk: Include, what lies beside slurm.conf, users.
#include "common/config_files/load.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

class LoadConfig : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Result<ClusterConfig> load() { return load_config((folder_ / "slurm.conf").string()); }
  test::TempFolder folder_;
};

TEST_F(LoadConfig, ReadsIncludedFilesAndThoseBeside) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=0\nSlurmdUser=root\nInclude conf.d/*.conf\n"
      "GresTypes=gpu\nPartitionName=p Nodes=ALL\n");
  put("conf.d/b.conf", "NodeName=b\n");
  put("conf.d/a.conf", "NodeName=a\n");
  put("cgroup.conf", "ConstrainCores=yes\n");
  put("gres.conf", "Name=gpu File=/dev/null\n");
  const auto config = load();
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->partitions[0].nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config->slurm_user, "root");
  EXPECT_EQ(config->slurm_user_id, 0U);
  EXPECT_TRUE(config->cgroup.constrain_cores);
  EXPECT_EQ(config->gres_lines.size(), 1U);
  EXPECT_EQ(config->config_path, (folder_ / "slurm.conf").string());
}

TEST_F(LoadConfig, ACommandMaySkipTheLines) {
  put("slurm.conf", "ClusterName=demo\nNodeName=a\nSlurmctldHost=vm\nSlurmUser=root\n");
  const auto config = load_global_config((folder_ / "slurm.conf").string());
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_TRUE(config->nodes.empty());
  EXPECT_EQ(config->controllers.size(), 1U);
}

TEST_F(LoadConfig, SaysWhatIsMissing) {
  const std::string path = (folder_ / "slurm.conf").string();
  EXPECT_EQ(load().error().text, path + ": No such file or directory");
  put("slurm.conf", "ClusterName=demo\nInclude gone.conf\n");
  EXPECT_EQ(load().error().text,
            path + ":2: " + (folder_ / "gone.conf").string() + ": No such file or directory");
  put("slurm.conf", "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=nobody-of-that-name\n");
  EXPECT_EQ(load().error().text, path +
                                     ": SlurmUser=\"nobody-of-that-name\" is not valid; "
                                     "allowed: a user of this machine");
}

// The bug: a pipe that nobody writes to, and a device without an end, were read for ever.
TEST_F(LoadConfig, IncludesFilesAlone) {
  const std::string pipe = (folder_ / "pipe.conf").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  put("slurm.conf", "ClusterName=demo\nInclude pipe.conf\n");
  EXPECT_NE(load().error().text.find(pipe + ": it is a pipe or a socket"), std::string::npos);
  put("slurm.conf", "ClusterName=demo\nInclude /dev/zero\n");
  EXPECT_NE(load().error().text.find("/dev/zero: it has more than 64 MiB"), std::string::npos);
}

TEST_F(LoadConfig, ADigestTellsFilesApart) {
  const std::string text = "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=root\nNodeName=a\n";
  const std::string path = (folder_ / "slurm.conf").string();
  put("slurm.conf", text);
  const std::string digest = lines_digest(path);
  EXPECT_EQ(digest.size(), 16U);
  put("slurm.conf", "# a remark\n\n" + text);
  EXPECT_EQ(lines_digest(path), digest);
  put("more.conf", "NodeName=a\n");
  put("slurm.conf", "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=root\nInclude more.conf\n");
  EXPECT_EQ(lines_digest(path), digest);
  put("more.conf", "NodeName=b\n");
  EXPECT_NE(lines_digest(path), digest);
  EXPECT_EQ(lines_digest((folder_ / "gone.conf").string()), "");
}

TEST_F(LoadConfig, FoldersOfJobsNeedTheirFile) {
  const std::string text = "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=root\nNodeName=a\n";
  put("slurm.conf", text + "JobContainerType=job_container/tmpfs\n");
  ASSERT_FALSE(load());
  EXPECT_NE(
      load().error().text.find("JobContainerType=job_container/tmpfs needs a job_container.conf"),
      std::string::npos);
  EXPECT_EQ(load_whole_config((folder_ / "slurm.conf").string()).errors.size(), 1U);
  put("job_container.conf", "BasePath=none\n");
  EXPECT_TRUE(load()) << load().error().text;
  EXPECT_TRUE(load_global_config((folder_ / "slurm.conf").string()));
}

// The bug: each job failed at its launch.
TEST_F(LoadConfig, FoldersOfJobsDoNotHideTheSpool) {
  const auto error_of = [&](const std::string& spool, const std::string& dirs) {
    put("slurm.conf",
        "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=root\nNodeName=a\n"
        "JobContainerType=job_container/tmpfs\nSlurmdSpoolDir=" +
            spool + "\n");
    put("job_container.conf", "BasePath=/var/base\n" + dirs);
    const auto config = load();
    return config ? std::string() : config.error().text;
  };
  EXPECT_EQ(error_of("/tmp/spool", ""),
            (folder_ / "slurm.conf").string() +
                ": jobs have /tmp for themselves (Dirs of job_container.conf) and could not reach "
                "SlurmdSpoolDir=/tmp/spool: one of both must be elsewhere");
  EXPECT_EQ(error_of("/tmporary/spool", ""), "");
  EXPECT_EQ(error_of("/tmp/spool", "Dirs=/dev/shm\n"), "");
  EXPECT_NE(error_of("/scratch/spool", "Dirs=/scratch\n"), "");
}

// An editor puts it there; the first key was unknown with it.
TEST_F(LoadConfig, AByteOrderMarkIsPassedOver) {
  put("slurm.conf",
      "\xEF\xBB\xBF"
      "ClusterName=demo\nSlurmctldHost=vm\nSlurmUser=root\n");
  const auto config = load();
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->cluster_name, "demo");
}

TEST(ConfigPath, TheCommandLineComesBeforeTheEnvironment) {
  setenv("SLURM_CONF", "/from/environment", 1);
  EXPECT_EQ(config_path("/given"), "/given");
  EXPECT_EQ(config_path(), "/from/environment");
  unsetenv("SLURM_CONF");
  EXPECT_EQ(config_path(), kUsualConfigPath);
}

TEST(ConfigPath, IsAbsolute) {  // daemons leave the folder that they are started in
  EXPECT_EQ(config_path("here.conf"), (std::filesystem::current_path() / "here.conf").string());
}

TEST_F(LoadConfig, ACommandReadsWhatItCan) {
  put("slurm.conf", "");
  const std::string path = (folder_ / "slurm.conf").string();
  setenv("SLURM_CONF", path.c_str(), 1);
  EXPECT_EQ(readable_config_path(), path);
  setenv("SLURM_CONF", (folder_ / "gone.conf").c_str(), 1);
  EXPECT_EQ(readable_config_path(), "");  // whoever names a file means that one
  unsetenv("SLURM_CONF");
}

TEST(ConfigServers, AreAskedWhereNoFileIsNamed) {
  setenv("SLURM_CONF_SERVER", "ctl", 1);
  setenv("SLURM_CONF", "/from/environment", 1);
  EXPECT_EQ(config_servers("other:7000", ""), "other:7000");
  EXPECT_EQ(config_servers("other:7000", "/given"), "other:7000");
  EXPECT_EQ(config_servers("", ""), "");
  unsetenv("SLURM_CONF");
  EXPECT_EQ(config_servers("", "/given"), "");
  const bool usual_file = std::filesystem::exists(kUsualConfigPath);
  EXPECT_EQ(config_servers("", ""), usual_file ? "" : "ctl");
  unsetenv("SLURM_CONF_SERVER");
  EXPECT_EQ(config_servers("", ""), "");
}

}  // namespace
}  // namespace sluice
