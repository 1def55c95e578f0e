// Options of generic resources and licenses: what does not go together, and what is no such
// resource.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/submit/submit_fixture.hpp"

namespace sluice {
namespace {

// Were refused.
TEST(SubmitOptionsTest, LicensesAndDevicesOfTasks) {
  Submission s;
  s.job.num_tasks = 3;
  s.job.licenses = "other:1";
  ASSERT_TRUE(apply(s, "tres-per-task", "cpu=2,gres/gpu=1,license/matlab:7", kSbatch));
  std::vector<std::string> warnings;
  ASSERT_TRUE(finish_submission(s, kSbatch, warnings));
  EXPECT_EQ(s.job.tres_per_task, "gres/gpu=1,license/matlab:7")
      << "as it was given: tasks are told so";
  EXPECT_EQ(s.job.licenses, "other:1,matlab:21");
  EXPECT_EQ(s.job.cpus_per_task, 2u);
  EXPECT_EQ(fault("tres-per-task", "license/"), "Invalid --tres-per-task specification");
  EXPECT_EQ(fault("tres-per-task", "gres/"), "Invalid --tres-per-task specification");
  EXPECT_EQ(fault("tres-bind", "gres/gpu:map_gpu:z"),
            "Invalid --tres-bind argument: gres/gpu:map_gpu:z");
  s = {};
  s.job.num_tasks = 1;
  s.job.tres_freq = "gpu:low";
  ASSERT_TRUE(apply(s, "gres", "mps:1", kSbatch));
  EXPECT_FALSE(finish_submission(s, kSbatch, warnings)) << "a frequency is a whole GPU's";
}

TEST(SubmitOptionsTest, MapsAndMasksOfGpusAreNumbers) {
  for (const char* good : {"map_gpu:0,1", "map_gpu:0*2,0x1", "mask_gpu:0x3*2,f", "mask_gpu:0x",
                           "v,map:3", "single:x", "closest"}) {
    EXPECT_EQ(bad_gpu_number(good), "") << good;
  }
  EXPECT_EQ(bad_gpu_number("map_gpu:0,x"), "Failed to validate x, offending character is x");
  EXPECT_EQ(bad_gpu_number("verbose,map_gpu:-1"),
            "Failed to validate -1, offending character is -");
  EXPECT_EQ(bad_gpu_number("mask_gpu:zz"), "Failed to validate zz, offending character is z");
  EXPECT_EQ(bad_gpu_number("map_gpu:1*y"), "Failed to validate 1*y, offending character is y");
}

TEST(SubmitOptionsTest, WishesOfGpusThatCannotBeMeant) {
  const auto refused = [](std::vector<std::pair<const char*, const char*>> options) {
    Submission s;
    for (const auto& [name, value] : options) EXPECT_TRUE(apply(s, name, value, kSbatch)) << name;
    std::vector<std::string> said;
    const OptionResult fits = finish_submission(s, kSbatch, said);
    return fits ? ""
                : fmt::format("{}|{}", fits.error().errors.front(), fits.error().errors.size());
  };
  EXPECT_EQ(
      refused({{"ntasks-per-gpu", "2"}, {"ntasks-per-node", "2"}, {"gpus", "2"}}),
      "fatal: --ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU|1");
  EXPECT_EQ(refused({{"cpus-per-gpu", "1"}, {"cpus-per-task", "1"}, {"gpus", "1"}}),
            "--cpus-per-gpu is mutually exclusive with --cpus-per-task|2");
  EXPECT_EQ(refused({{"mem-per-gpu", "1G"}, {"gres", "fan:1"}}),
            "Requested mem_per_tres=gres/gpu:1024 but did not request any GPU.|2");
  for (const char* gpus : {"gres", "gpus", "gpus-per-node", "gpus-per-task", "ntasks-per-gpu"}) {
    EXPECT_EQ(refused({{"mem-per-gpu", "1G"},
                       {"ntasks", "2"},
                       {gpus, std::string_view(gpus) == "gres" ? "gpu:2" : "2"}}),
              "")
        << gpus;
  }
  EXPECT_EQ(refused({{"gres", "shard:3,gpu:1"}}),
            "Invalid generic resource (gres) specification|1");
  EXPECT_EQ(refused({{"gres", "mps:3"}, {"gpus", "1"}}),
            "Invalid generic resource (gres) specification|1");
  EXPECT_EQ(refused({{"gres", "shard:3,fan:1"}}), "");
}

TEST(SubmitOptionsTest, GresAreOfKnownTypes) {
  JobSpec job;
  job.gres = "gres/gpu:a100:2,gres/fan:1";
  EXPECT_TRUE(check_gres(job, {"gpu", "fan"}));
  EXPECT_EQ(check_gres(job, {"gpu"}).error().code, ErrorCode::kInvalidGres);
  job.gres = "gres/gpu:0";
  EXPECT_TRUE(check_gres(job, {}));
}

using Options = std::vector<std::pair<const char*, const char*>>;

// Why the GPUs that are asked for are refused; empty: they are not.
std::string gpu_fault(const Options& options, CommandSet command, JobId job_id = 0) {
  Submission s;
  s.settings.job_id = job_id;
  for (const auto& [name, value] : options) EXPECT_TRUE(apply(s, name, value, command)) << name;
  std::vector<std::string> said;
  const OptionResult fits = finish_submission(s, command, said);
  if (fits) return {};
  EXPECT_EQ(fits.error().exit_status, 1);
  return fits.error().errors.front();
}

TEST(SubmitOptionsTest, GpusThatDoNotGoTogether) {
  const std::string failed = "Failed to validate job spec";
  const std::string order =
      "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket";
  const std::pair<Options, std::string> refused[] = {
      {{{"gpus-per-socket", "1"}},
       "--gpus-per-socket option requires --sockets-per-node specification"},
      {{{"gpus", "1"}, {"gpus-per-node", "2"}}, order},
      {{{"gpus", "1"}, {"gpus-per-task", "2"}, {"ntasks", "1"}}, order},
      {{{"gpus-per-node", "1"}, {"gpus-per-socket", "2"}, {"sockets-per-node", "1"}},
       "Failed to ensure --gpus >= --gpus-per-task"},
      {{{"gpus", "3"}, {"gpus-per-node", "2"}},
       failed + ", --gpus is not multiple of --gres=gpu/--gpus-per-node"},
      {{{"gpus", "4"}, {"gpus-per-node", "2"}, {"nodes", "3"}},
       failed +
           ". Based on --gpu and --gres=gpu/--gpus-per-node required nodes (2) doesn't fall between min_nodes (3) and "
           "max_nodes (3) boundaries."},
      {{{"gpus-per-node", "3"}, {"gpus-per-socket", "2"}, {"sockets-per-node", "1"}},
       failed + ", --gres=gpu/--gpus-per-node not multiple of --gpus-per-socket."},
      {{{"gpus-per-node", "2"}, {"gpus-per-socket", "1"}, {"sockets-per-node", "1"}},
       failed +
           ". Based on --gres=gpu/--gpus-per-node and --gpus-per-socket required number of sockets differ from "
           "--sockets-per-node."},
      {{{"gpus", "3"}, {"gpus-per-task", "2"}},
       failed + ", --gpus not multiple of --gpus-per-task"},
      {{{"gpus", "2"}, {"gpus-per-task", "1"}, {"ntasks", "1"}},
       failed +
           ". Based on --gpus and --gpus-per-task number of requested tasks differ from -n/--ntasks."},
      {{{"gpus-per-task", "1"}},
       failed + ". --gpus-per-task used without either --gpus or -n/--ntasks is not allowed."}};
  for (const auto& [options, why] : refused) {
    for (const CommandSet command : {kSbatch, kSalloc, kSrun})
      EXPECT_EQ(gpu_fault(options, command), why);
    EXPECT_EQ(gpu_fault(options, kSrun, 7), "") << "in a job, it is the step's affair: " << why;
  }
  const Options taken[] = {
      {{"gpus", "8"}, {"gpus-per-node", "2"}, {"gpus-per-socket", "1"}, {"sockets-per-node", "2"}},
      {{"nodes", "2"}, {"gpus-per-task", "1"}},
      {{"gpus", "a100:2,t4:1"}, {"gpus-per-node", "a100:2"}}};
  for (const Options& options : taken) {
    for (const CommandSet command : {kSbatch, kSalloc, kSrun})
      EXPECT_EQ(gpu_fault(options, command), "");
  }
}

}  // namespace
}  // namespace sluice
