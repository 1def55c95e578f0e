// The fields of sacct, in the order of --helpformat.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "common/protocol/accounting.hpp"

namespace sluice::cli {

// A job, or one of its steps.
struct SacctRow {
  const protocol::HistoryJob& record;
  const StepHistory* step = nullptr;  // null: the job itself
};

struct SacctContext {
  Time now = kNoTime;
  std::string time_form;  // SLURM_TIME_FORMAT
  bool convert = true;    // false: --noconvert
  char unit = 0;          // --units; 0: the largest that loses nothing
  // -T: times are cut to this span
  bool truncate = false;
  Time from = kNoTime, until = kNever;
  bool expand_patterns = false;
  std::string (*user_name)(uint32_t uid) = nullptr;
};

// What a column that is too narrow leaves of a value.
enum class SacctCut : uint8_t {
  kMark,  // what fits, and a "+"
  kNone,  // all of it: numbers
  kEnd,   // what fits: dates
};

struct SacctField {
  std::string_view name;  // also the heading
  int width;              // negative: justified left
  SacctCut cut;
  std::string (*render)(const SacctRow& row, const SacctContext& context);
};

[[nodiscard]] std::span<const SacctField> sacct_fields();
// By name or its beginning, whatever the case; null when there is none.
[[nodiscard]] const SacctField* find_sacct_field(std::string_view name);

inline constexpr std::string_view kSacctFormat =
    "jobid,jobname,partition,account,alloccpus,state,exitcode";
inline constexpr std::string_view kSacctBriefFormat = "jobid,state,exitcode";
inline constexpr std::string_view kSacctCompletionFormat =
    "jobid,uid,jobname,partition,nnodes,nodelist,state,end";
inline constexpr std::string_view kSacctLongFormat =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,"
    "maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,"
    "mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,reqcpufreqmin,"
    "reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,"
    "maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,"
    "reqtres,alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,"
    "tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutmax,"
    "tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,tresusageouttot";

}  // namespace sluice::cli
