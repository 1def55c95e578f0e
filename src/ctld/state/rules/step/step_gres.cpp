#include "ctld/state/rules/step/step_gres.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/bounded.hpp"
#include "common/base/text.hpp"

namespace sluice::state {
namespace {

using fit::GresNeed;

std::string named(const GresNeed& need) {
  return need.type.empty() ? need.name.str()
                           : fmt::format("{}:{}", need.name.view(), need.type.view());
}

// What the job asked for by socket of it; 0: nothing.
uint64_t per_socket_of(const Job& job, const GresNeed& need) {
  const auto items = gres_items(job.spec->tres_per_socket.view());
  if (!items) return 0;
  const auto at = std::ranges::find_if(*items, [&](const GresItem& item) {
    return item.name == need.name && item.type == need.type;
  });
  return at == items->end() ? 0 : at->count;
}

// The job has none of it, or not as much.
Status check_need(const Job& job, const GresNeed& need) {
  uint64_t most = 0, all = 0;
  for (const NodeAllocation& part : job.allocation->nodes) {
    const uint64_t here = count_of(part.gres, need.name, need.type);
    most = std::max(most, here);
    all += here;
  }
  if (all == 0) {
    return failure(ErrorCode::kInvalidGres,
                   fmt::format("Step requested GRES ({}) not found in the job", named(need)));
  }
  const auto refuse = [&](std::string_view what, uint64_t wanted, uint64_t there) {
    return failure(ErrorCode::kInvalidGres,
                   fmt::format("Step requested {0}={1}:{2} is more than the job's {0}={1}:{3}",
                               what, named(need), wanted, there));
  };
  if (need.per_node > most) return refuse("gres_per_node", need.per_node, most);
  if (need.per_job > all) return refuse("gres_per_step", need.per_job, all);
  if (need.per_task > most) return refuse("gres_per_task", need.per_task, most);
  const uint64_t on_socket = need.per_socket > 0 ? per_socket_of(job, need) : 0;
  if (on_socket > 0 && need.per_socket > on_socket)
    return refuse("gres_per_socket", need.per_socket, on_socket);
  if (need.per_socket > most) return failure(ErrorCode::kInvalidGres);
  return {};
}

// Units for so many tasks on a node; 0: what --gpus deals.
uint64_t count_for(const GresNeed& need, uint32_t tasks) {
  if (need.per_node > 0) return need.per_node;
  if (need.per_task > 0) return bounded_product(need.per_task, tasks);
  return need.tasks_per_unit > 0 ? rounded_up_quotient(tasks, need.tasks_per_unit) : 0;
}

// The job's sockets are not the step's: with --gpus-per-socket alone it has all that is free, as in
// Slurm.
bool takes_all(const GresNeed& need) {
  return need.per_socket > 0 && need.per_node == 0 && need.per_job == 0 && need.per_task == 0 &&
         need.tasks_per_unit == 0;
}

}  // namespace

Result<StepGres> step_gres(const Job& job, const StepSpec& spec) {
  StepGres step;
  const bool none = spec.gres == "none";
  const std::pair<const SharedText*, uint64_t GresNeed::*> texts[] = {
      {&spec.gres, &GresNeed::per_node},
      {&spec.tres_per_step, &GresNeed::per_job},
      {&spec.tres_per_socket, &GresNeed::per_socket},
      {&spec.tres_per_task, &GresNeed::per_task}};
  bool given = none;
  for (const auto& [text, member] : texts) {
    if (text->empty() || (none && text == &spec.gres)) continue;
    // licenses, which the job holds
    if (const auto items = gres_items(text->view()); items && items->empty()) continue;
    given = true;
    if (Status ok = fit::add_gres_items(text->view(), member, step.needs); !ok)
      return tl::unexpected(ok.error());
  }
  if (spec.ntasks_per_gpu > 0) {
    const auto at =
        std::ranges::find_if(step.needs, [](const GresNeed& need) { return need.name == "gpu"; });
    if (at != step.needs.end()) at->tasks_per_unit = spec.ntasks_per_gpu;
  }
  step.all = !given;
  for (const GresNeed& need : step.needs) {
    if (Status ok = check_need(job, need); !ok) return tl::unexpected(ok.error());
  }
  return step;
}

GresShares free_gres(const Job& job, size_t position, bool overlap) {
  const NodeAllocation& part = job.allocation->nodes[position];
  GresShares free = part.gres;
  if (free.empty() || overlap) return free;
  for (const auto& step : job.steps) {
    if (step->spec == nullptr || step->id.step > kMaxNormalStep ||
        step->spec->overlap == OverlapKind::kOverlap)
      continue;
    for (size_t at = 0; at < step->layout->nodes.size(); ++at) {
      const StepNode& there = step->layout->nodes[at];
      if (there.node != part.node || !step->nodes_left.test(at)) continue;
      GresShares consumed = there.gres;
      std::erase_if(consumed, [](const GresShare& share) { return share.no_consume; });
      remove_shares(free, consumed);
    }
  }
  return free;
}

uint32_t tasks_for_gres(const StepGres& step, const GresShares& free, const GresShares& whole) {
  if (step.all) return same_shares(free, whole) ? UINT32_MAX : 0;
  uint64_t tasks = UINT32_MAX;
  for (const GresNeed& need : step.needs) {
    const uint64_t have = count_of(free, need.name, need.type);
    const uint64_t least = takes_all(need) ? need.per_socket : count_for(need, 1);
    if (have < std::max<uint64_t>(1, least)) return 0;
    if (need.per_node > 0 || need.per_job > 0) continue;
    if (need.per_task > 0) tasks = std::min(tasks, have / need.per_task);
    else if (need.tasks_per_unit > 0) tasks = std::min(tasks, have * need.tasks_per_unit);
  }
  return static_cast<uint32_t>(tasks);
}

std::vector<GresShares> deal_step_gres(const StepGres& step, std::span<const StepGresNode> nodes) {
  std::vector<GresShares> out(nodes.size());
  if (step.all) {
    for (size_t i = 0; i < nodes.size(); ++i) out[i] = *nodes[i].free;
    return out;
  }
  for (const GresNeed& need : step.needs) {
    const bool dealt = need.per_job > 0 && need.per_node == 0 && need.per_task == 0;
    uint64_t left = need.per_job, later = 0;
    for (const StepGresNode& node : nodes) later += count_of(*node.free, need.name, need.type);
    if (dealt && (later < left || left < nodes.size())) return {};
    for (size_t i = 0; i < nodes.size(); ++i) {
      const uint64_t most = count_of(*nodes[i].free, need.name, need.type);
      uint64_t count = takes_all(need) ? most : count_for(need, nodes[i].tasks);
      if (dealt) {
        later -= most;
        const uint64_t after = nodes.size() - i - 1;
        const uint64_t least = left > later ? left - later : 0;
        count = std::min({std::max((left + after) / (after + 1), least), most, left - after});
        left -= count;
      }
      add_shares(out[i], take_shares(*nodes[i].free, need.name, need.type, count));
    }
    if (dealt && left > 0) return {};
  }
  return out;
}

}  // namespace sluice::state
