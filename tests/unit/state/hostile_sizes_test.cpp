// Submissions whose sizes, features and lists are made to be looked at for long, in a cluster of
// 5,000 nodes: each holds the engine as long as an honest one.
#include <fmt/format.h>

#include "support/core_fixture.hpp"
#include "support/cpu_time.hpp"

namespace sluice::state {
namespace {

using std::chrono::microseconds;

class HostileSizesTest : public CoreTest {
 protected:
  static constexpr int kNodes = 5000;

  HostileSizesTest() {
    configure([](ClusterConfig& config) {
      for (int i = 5; i <= kNodes; ++i) {
        NodeConfig node = config.nodes.front();
        node.name = node.hostname = "n" + std::to_string(i);
        node.features = {"a", "b"};
        config.nodes.push_back(node);
        config.partitions.front().nodes.push_back(node.name);
      }
      config.nodes.back().features.push_back("z");
    });
  }

  microseconds takes(JobSpec spec) const {
    spec.uid = kAnn.uid;
    microseconds least = microseconds::max();
    for (int attempt = 0; attempt < 3; ++attempt) {
      const microseconds before = cpu_time();
      (void)decide(state_, SubmitJob{kAnn, spec, {"users"}}, now_);
      least = std::min(least, cpu_time() - before);
    }
    return least;
  }
  // Against one that fits no node either, and is not hard to look at.
  void expect_quick(const JobSpec& spec, const std::string& what) {
    JobSpec plain = batch_spec();
    plain.sockets_per_node = 99;
    const microseconds honest = takes(plain), took = takes(spec);
    EXPECT_LE(took, 20 * honest + std::chrono::milliseconds(10))
        << what << ": " << took.count() << " us, an honest one " << honest.count() << " us";
  }
};

std::string repeated(const std::string& name, int times) {
  std::string text = name;
  for (int i = 1; i < times; ++i) text += "," + name;
  return text;
}

TEST_F(HostileSizesTest, FeaturesOfManyBranches) {
  JobSpec spec = batch_spec();
  spec.excluded_nodes = "n" + std::to_string(kNodes);
  spec.constraint = "(a|b)&(a|b)&(a|b)&(a|b)&(a|b)&(a|b)&(a|b)&(a|b)&a&b&a&b&a&b&a&z";
  expect_quick(spec, "features that are the same");
  spec.partitions = repeated("debug", 512);
  expect_quick(spec, "in one partition, named often");
}

TEST_F(HostileSizesTest, ManyNumbersOfNodes) {
  JobSpec spec = batch_spec();
  spec.node_counts = "1,3-5000";
  spec.min_nodes = 1;
  spec.max_nodes = 5000;
  spec.num_tasks = 300'000;
  expect_quick(spec, "numbers of nodes");
  spec.contiguous = true;
  spec.required_nodes = "n" + std::to_string(kNodes);
  spec.num_tasks = 6000;
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 4000;
  expect_quick(spec, "numbers of neighbours");
}

}  // namespace
}  // namespace sluice::state
