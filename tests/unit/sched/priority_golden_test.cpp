// Priorities against those that a real Slurm 22.05 gave the same jobs (tests/golden/priority).
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

struct Golden {
  std::vector<std::string> conf;         // lines
  std::vector<std::string> submissions;  // "a -n1 -p half"
  // what sprio printed with '%r %Y %A %B %F %J %P %Q %S %N'
  std::vector<std::string> lines;
};

Golden read(const std::filesystem::path& path) {
  Golden out;
  std::ifstream file(path);
  bool wanted = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| ")) out.conf.push_back(line.substr(2));
    else if (line.starts_with("$ sub ")) out.submissions.push_back(line.substr(6));
    else if (line.starts_with("$ ")) wanted = line.ends_with("'%r %Y %A %B %F %J %P %Q %S %N'");
    else if (wanted) out.lines.push_back(line);
  }
  return out;
}

void set(ClusterConfig& config, const std::string& line) {
  const size_t equals = line.find('=');
  const std::string key = line.substr(0, equals), value = line.substr(equals + 1);
  const auto number = [&] { return to_number<uint32_t>(value).value_or(0); };
  if (key == "PriorityWeightAge") config.priority_weight_age = number();
  else if (key == "PriorityWeightAssoc") config.priority_weight_assoc = number();
  else if (key == "PriorityWeightFairshare") config.priority_weight_fair_share = number();
  else if (key == "PriorityWeightJobSize") config.priority_weight_job_size = number();
  else if (key == "PriorityWeightPartition") config.priority_weight_partition = number();
  else if (key == "PriorityWeightQOS") config.priority_weight_qos = number();
  else if (key == "PriorityWeightTRES") config.priority_weight_tres = value;
  else if (key == "PriorityFavorSmall") config.priority_favor_small = value == "YES";
  else if (key == "PriorityFlags") config.priority_flags = split_list(value);
  else ADD_FAILURE() << "what is " << line;
}

// The options that the files use, "-n1" and "-n 1".
JobSpec spec_of(const std::string& submission) {
  std::vector<std::string> words = split_list(submission, ' ');
  JobSpec spec = World::spec();
  const auto number = [](std::string_view text) { return to_number<uint32_t>(text).value_or(0); };
  for (size_t i = 1; i < words.size(); ++i) {
    std::string name = words[i], value;
    if (name.starts_with("--")) {
      const size_t equals = std::min(name.find('='), name.size());
      value = equals < name.size() ? name.substr(equals + 1) : "";
      name.resize(equals);
    } else {
      value = name.size() > 2 ? name.substr(2) : words[++i];
      name.resize(2);
    }
    if (name == "-n") spec.num_tasks = number(value);
    else if (name == "-c") spec.cpus_per_task = number(value);
    else if (name == "-p") spec.partitions = value;
    else if (name == "--nice") spec.nice = static_cast<int32_t>(number(value));
    else if (name == "--ntasks-per-node") spec.ntasks_per_node = number(value);
    else if (name == "--exclusive") spec.sharing = Sharing::kExclusive;
    else if (name == "-t") spec.time_limit = value == "2-0" ? 2 * 24 * 60 : number(value);
    else if (name == "-N") {
      spec.min_nodes = number(value.substr(0, value.find('-')));
      if (value.find('-') != std::string::npos)
        spec.max_nodes = number(value.substr(value.find('-') + 1));
    } else if (name == "--mem" || name == "--mem-per-cpu") {
      spec.memory_kind = name == "--mem" ? MemoryKind::kPerNode : MemoryKind::kPerCpu;
      spec.memory_mib = number(value);
    } else if (name != "--gres" && name != "-L" && name != "--array") {
      ADD_FAILURE() << "what is " << name;
    }
  }
  return spec;
}

constexpr Minutes kZeroLimit = 60;

std::vector<std::string> computed(const Golden& golden) {
  World w(4, 8);
  for (NodeConfig& node : w.config.nodes) node.real_memory_mib = 10'000;
  w.config.def_mem_per_cpu_mib = 100;
  w.config.priority_type = "priority/multifactor";
  w.config.partitions[0].priority_job_factor = 10;
  PartitionConfig& half = w.partition("half");
  half.nodes.resize(2);
  half.priority_job_factor = 5;
  PartitionConfig& zero = w.partition("zero");
  zero.priority_job_factor = 0;
  zero.max_time = kZeroLimit;
  for (const std::string& line : golden.conf) set(w.config, line);
  w.up();
  const auto policy = make_policies(w.state).priority;
  const PriorityWeights weights = policy->weights();
  std::vector<std::string> out;
  for (const std::string& submission : golden.submissions) {
    Job job;
    auto spec = std::make_shared<JobSpec>(spec_of(submission));
    job.spec = spec;
    job.submit = job.accrue = w.now;
    const std::string names =
        spec->partitions.empty() ? "debug" : std::string(spec->partitions.view());
    // without a limit of its own that of the first partition
    const bool in_zero = names.starts_with("zero");
    job.time_limit = spec->time_limit != 0 ? spec->time_limit : in_zero ? kZeroLimit : 0;
    for (const std::string& name : split_list(names)) {
      const state::Partition* partition = state::find_partition(w.state, name);
      const auto weighed = policy->weigh(job, *partition->config, w.now);
      const PriorityFactors& f = weighed->factors;
      out.push_back(fmt::format("{} {} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {} {}", name,
                                weighed->priority, weights.age * f.age, weights.assoc * f.assoc,
                                weights.fair_share * f.fair_share, weights.job_size * f.job_size,
                                weights.partition * f.partition, weights.qos * f.qos,
                                spec->site_factor, spec->nice));
    }
  }
  return out;
}

TEST(PriorityGolden, AsTheRealOneComputes) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/priority")) {
    if (entry.path().extension() != ".txt") continue;
    const Golden golden = read(entry.path());
    if (golden.lines.empty()) continue;
    ++files;
    EXPECT_EQ(computed(golden), golden.lines) << entry.path();
  }
  EXPECT_GE(files, 13U);
}

}  // namespace
}  // namespace sluice::sched
