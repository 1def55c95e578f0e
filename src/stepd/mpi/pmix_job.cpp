#include "stepd/mpi/pmix_job.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/names/step_names.hpp"
#include "stepd/mpi/process_mapping.hpp"

namespace sluice::stepd {
namespace {

// A list as the library packs it, with its ending NUL; as it is where it would be packed into bytes
// that are no text.
std::string packed(const PmixLibrary& library, const std::string& list) {
  char* made = nullptr;
  const pmix_status_t status = library.generate_regex(list.c_str(), &made);
  std::string out = status == PMIX_SUCCESS && made != nullptr ? made : "";
  ::free(made);
  if (!out.starts_with("pmix[")) out = "raw:" + list;
  out.push_back('\0');
  return out;
}

struct RankPlace {
  uint32_t node = 0;
  uint32_t local = 0;
};
void describe_rank(const StepNode& place, const std::string& host, RankPlace at, PmixInfo& out) {
  const uint32_t local = at.local;
  out.reserve(9);
  out.rank(PMIX_RANK, place.tasks[local]);
  out.number(PMIX_APPNUM, 0);
  out.rank(PMIX_APPLDR, 0);
  out.rank(PMIX_GLOBAL_RANK, place.tasks[local]);
  out.rank(PMIX_APP_RANK, place.tasks[local]);
  out.number16(PMIX_LOCAL_RANK, static_cast<uint16_t>(local));
  out.number16(PMIX_NODE_RANK, static_cast<uint16_t>(local));
  out.number(PMIX_NODEID, at.node);
  out.text(PMIX_HOSTNAME, host);
}

}  // namespace

std::string pmix_namespace(const StepId& id) {
  return fmt::format("slurm.pmix.{}", step_id_text(id));
}

void describe_pmix_job(const PmixLibrary& library, const PlanInput& input,
                       const std::string& folder, PmixInfo& out) {
  const StepLayout& layout = whole_layout(input.launch);
  const StepNode& here = layout.nodes[input.whole_index()];
  const auto local_size = static_cast<uint32_t>(here.tasks.size());
  const std::vector<std::string> names = distinct_node_names(layout);
  std::vector<std::string> ranks;
  for (const StepNode& node : layout.nodes)
    ranks.push_back(fmt::format("{}", fmt::join(node.tasks, ",")));
  out.reserve(layout.num_tasks + 24);
  out.text(PMIX_JOBID, step_id_text(whole_id(input.launch)));
  out.regex(PMIX_NODE_MAP, packed(library, fmt::format("{}", fmt::join(names, ","))));
  // never packed: clients find the ranges of the packed form in PMIX_LOCAL_PEERS, and Open MPI
  // reads no ranges there
  out.regex(PMIX_PROC_MAP, fmt::format("raw:{}", fmt::join(ranks, ";")) + '\0');
  if (auto mapping = process_mapping(layout); !mapping.empty()) {
    out.text(PMIX_ANL_MAP, std::move(mapping));
  }
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_APP_SIZE, PMIX_MAX_PROCS})
    out.number(key, layout.num_tasks);
  out.number(PMIX_JOB_NUM_APPS, 1);
  out.number(PMIX_NUM_NODES, static_cast<uint32_t>(layout.nodes.size()));
  out.number(PMIX_NODEID, input.whole_index());
  out.number(PMIX_LOCAL_SIZE, local_size);
  out.number(PMIX_NODE_SIZE, local_size);
  out.text(PMIX_LOCAL_PEERS, fmt::format("{}", fmt::join(here.tasks, ",")));
  out.rank(PMIX_LOCALLDR, *std::min_element(here.tasks.begin(), here.tasks.end()));
  out.number(PMIX_USERID, input.user.uid);
  out.number(PMIX_GRPID, input.user.gid);
  out.text(PMIX_TMPDIR, folder);
  out.text(PMIX_NSDIR, folder);
  out.flag(PMIX_TDIR_RMCLEAN, true);
  for (uint32_t node = 0; node < layout.nodes.size(); ++node) {
    for (uint32_t local = 0; local < layout.nodes[node].tasks.size(); ++local)
      describe_rank(layout.nodes[node], names[node], {node, local}, out.array(PMIX_PROC_DATA));
  }
}

}  // namespace sluice::stepd
