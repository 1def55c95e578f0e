// A job, and what the programs of a site find of it in their environment, wherever they run.
#pragma once

#include <utility>

#include "common/model/job_spec.hpp"

namespace sluice::testing {

// In its second restart, when it is job 7.
inline JobSpec anns_spec() {
  JobSpec spec;
  spec.name = "post";
  spec.user_name = "ann";
  spec.uid = 1001;
  spec.num_tasks = 4;
  spec.comment = "why";
  spec.extra = "more";
  spec.constraint = "fast";
  spec.work_dir = "/srv";
  spec.std_out = "out.txt";
  return spec;
}

inline constexpr std::pair<const char*, const char*> kAnnsVariables[] = {
    {"SLURM_JOB_ID", "7"},
    {"SLURM_JOB_UID", "1001"},
    {"SLURM_JOB_RESTART_COUNT", "2"},
    {"SLURM_JOB_COMMENT", "why"},
    {"SLURM_JOB_CONSTRAINTS", "fast"},
    {"SLURM_JOB_EXTRA", "more"},
    {"SLURM_JOB_WORK_DIR", "/srv"},
    {"SLURM_JOB_STDOUT", "out.txt"}};

}  // namespace sluice::testing
