// TRESBillingWeights: what jobs are charged for, to the digit.
#include "ctld/state/limits/billing.hpp"
#include "unit/limits/accounting_world.hpp"

namespace sluice::state {
namespace {

class BillingTest : public ::testing::Test {
 protected:
  struct Sizes {
    uint64_t cpus = 0, memory_mib = 0, gpus = 0;
  };
  uint64_t micro(Sizes sizes, const char* licenses = "") {
    TresCounts counts;
    counts.cpus = sizes.cpus;
    counts.memory_mib = sizes.memory_mib;
    counts.nodes = 1;
    if (sizes.gpus > 0) counts.gres = {{"gpu", "a100", sizes.gpus, {}, {}}};
    return billing_micro(config_, partition_, counts, licenses);
  }
  ClusterConfig config_;
  PartitionConfig partition_;
};

TEST_F(BillingTest, WithoutWeightsCpus) { EXPECT_EQ(micro({7, 99'999, 2}), 7 * kMicro); }

TEST_F(BillingTest, SumOfAllTres) {
  partition_.tres_billing_weights = "CPU=1.0,Mem=0.25G,GRES/gpu=2.0,license/matlab=3";
  EXPECT_EQ(micro({2, 8192, 1}, "matlab:2"), (2 + 2 + 2 + 6) * kMicro);
  partition_.tres_billing_weights = "CPU=.5,GRES/gpu:a100=4,GRES/gpu:h100=8";
  EXPECT_EQ(micro({3, 0, 1}), 5'500'000u) << "exact, in millionths";
}

// A national centre's worked examples.
TEST_F(BillingTest, BundlesOfACoreAnd4GB) {
  config_.priority_flags = {"MAX_TRES"};
  partition_.tres_billing_weights = "CPU=1.0,Mem=0.25G";
  EXPECT_EQ(micro({2, 2 * 2048, 0}), 2 * kMicro) << "2 cores with 2 GB each";
  EXPECT_EQ(micro({2, 2 * 5120, 0}), 2'500'000u) << "2 cores with 5 GB each";
  EXPECT_EQ(micro({1, 8192, 0}), 2 * kMicro) << "1 core and 8 GB";
}

TEST_F(BillingTest, BundlesOfAGpu6CoresAnd32GB) {
  config_.priority_flags = {"MAX_TRES"};
  partition_.tres_billing_weights = "CPU=0.16666667,Mem=0.03125G,GRES/gpu=1.0";
  EXPECT_EQ(micro({6, 32'768, 2}), 2 * kMicro);
  EXPECT_EQ(micro({9, 32'768, 1}), 1'500'000u);
  EXPECT_EQ(micro({6, 49'152, 1}), 1'500'000u);
}

TEST_F(BillingTest, OtherBundles) {
  config_.priority_flags = {"MAX_TRES"};
  partition_.tres_billing_weights = "CPU=1.0,Mem=0.20833333G";  // 4.8 GB
  EXPECT_EQ(micro({1, 4915, 0}), 1 * kMicro) << "4.8 GB are 4,915.2 MB";
  EXPECT_EQ(micro({2, 2 * 6144, 0}), 2'500'000u);
  EXPECT_EQ(micro({1, 9830, 0}), 1'999'919u);
  partition_.tres_billing_weights = "CPU=0.125,Mem=0.00003125,GRES/gpu=1.0";  // 8 cores, 32,000 MB
  EXPECT_EQ(micro({12, 32'000, 1}), 1'500'000u);
  EXPECT_EQ(micro({8, 48'000, 1}), 1'500'000u);
  EXPECT_EQ(micro({8, 32'000, 2}), 2 * kMicro);
  // 10 cores, 47,000 MB
  partition_.tres_billing_weights = "CPU=0.1,Mem=0.0000212765957,GRES/gpu=1.0";
  EXPECT_EQ(micro({15, 47'000, 1}), 1'500'000u);
  EXPECT_EQ(micro({10, 70'500, 1}), 1'500'000u);
}

TEST_F(BillingTest, GresBesideTheLargest) {
  partition_.tres_billing_weights = "CPU=1.0,Mem=0.25G,GRES/gpu=2.0,license/matlab=1";
  config_.priority_flags = {"MAX_TRES_GRES"};
  EXPECT_EQ(micro({2, 12'288, 1}, "matlab:1"), (3 + 2 + 1) * kMicro);
  config_.priority_flags = {"MAX_TRES"};
  EXPECT_EQ(micro({2, 12'288, 1}, "matlab:1"), (3 + 1) * kMicro);
}

TEST_F(BillingTest, TresOfAJobById) {
  const Accounting accounting = accounting_of(small_site());
  TresCounts counts;
  counts.cpus = 4;
  counts.memory_mib = 100;
  counts.nodes = 2;
  counts.gres = {{"gpu", "a100", 3, {}, {}}, {"gpu", "v100", 1, {}, {}}, {"fan", "", 1, {}, {}}};
  const TresAmounts expected{{kTresCpu, 4}, {kTresMem, 100}, {kTresNode, 2},
                             {kGpu, 4},     {kGpuA100, 3},   {kMatlab, 2}};
  EXPECT_EQ(tres_amounts(accounting, counts, "matlab:2,other:1"), expected);
}

}  // namespace
}  // namespace sluice::state
