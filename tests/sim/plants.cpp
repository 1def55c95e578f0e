// Faults that are planted in the simulated cluster, to see that they are seen.
#include "world.hpp"

#include <array>

namespace sluice::sim {

using namespace sluice::state;

const char* complaint_about(Plant plant) {
  static constexpr std::array<const char*, static_cast<size_t>(Plant::kCount)> kTexts{
      "",
      "has cores of another",
      "more memory is given than there is",
      "is given than there is",
      "got fewer CPUs",
      "may run for longer",
      "before its --begin",
      "before its dependency",
      "more tasks of its array",
      "more licenses in use",
      "which is not its own",
      "of what is not its own",
      "what is not of its reservation",
      "licenses that are kept for",
      "ran twice",
      "run on the same cores"};
  return kTexts[static_cast<size_t>(plant)];
}

// Whether starting this waiting job now is the fault that is planted.
bool World::is_prey(const Job& job) const {
  if (job.hold != HoldKind::kNone || job.het != nullptr) return false;
  const JobSpec& spec = *job.spec;
  const bool array = job.array != nullptr;
  switch (options_.plant) {
    case Plant::kBeforeBegin: return !array && spec.begin > now_ + std::chrono::seconds(1);
    case Plant::kBeforeDependency: {
      if (array || !spec.dependency.view().starts_with("afterany:")) return false;
      const Job* other = controller_.state().jobs.find(
          static_cast<JobId>(std::stoul(std::string(spec.dependency.view().substr(9)))));
      return other != nullptr && !is_terminal(other->state) && other->array == nullptr &&
             other->het == nullptr;
    }
    case Plant::kTooManyTasks: return array && job.array->max_running > 0;
    case Plant::kTooManyLicenses: return !array && !spec.licenses.empty();
    case Plant::kTooFewCpus: return !array && spec.cpus_per_task > 1 && spec.cpus_per_gpu.empty();
    case Plant::kReservedNode:
    case Plant::kReservedCores: return !array && spec.reservation.empty();
    case Plant::kOutsideOfReservation: return !array && !spec.reservation.empty();
    case Plant::kReservedLicenses:
      return !array && spec.reservation.empty() && !spec.licenses.empty();
    default: return !array;
  }
}

// On the first node that has nothing to do with the fault.
std::shared_ptr<Allocation> World::wrong_allocation() const {
  const ClusterState& state = controller_.state();
  NodeAllocation part;
  state.nodes.for_each([&](const Node& node) {
    const bool reserved = std::ranges::any_of(*state.reservations, [&](const Reservation& one) {
      const bool in_part = options_.plant == Plant::kReservedCores;
      return one.nodes.test(node.id) && one.start <= now_ && now_ < one.end &&
             one.cores.empty() != in_part;
    });
    const bool in_reservation =
        options_.plant == Plant::kReservedNode || options_.plant == Plant::kReservedCores;
    const bool wanted = in_reservation ? reserved : !reserved;
    const bool busy = options_.plant == Plant::kTwoJobsOnCores ? !node.used_cores.none() : true;
    if (part.node == kNoNode && !node.removed && wanted && busy) part.node = node.id;
  });
  if (part.node == kNoNode) return nullptr;
  const Node& node = state.nodes.at(part.node);
  if (options_.plant == Plant::kTwoJobsOnCores) {
    Bitmap used = node.used_cores;
    part.cores = used.take_first(1);
  } else {
    Bitmap free = Bitmap::first(node.config->cores());
    free.and_not(node.used_cores);
    const bool few = options_.plant == Plant::kTooFewCpus;
    part.cores = free.take_first(few ? 1 : std::min<size_t>(free.count(), 2));
    if (part.cores.none()) return nullptr;
  }
  part.cpus = static_cast<uint32_t>(part.cores.count());
  part.memory_mib = options_.plant == Plant::kTooMuchMemory ? 5000 : 100;
  if (options_.plant == Plant::kTooManyDevices)
    part.gres = {{.name = "gpu", .type = "a", .count = 9, .units = Bitmap::first(9)}};
  auto allocation = std::make_shared<Allocation>();
  allocation->cpus = part.cpus;
  allocation->node_list = node.name;
  allocation->nodes.push_back(std::move(part));
  return allocation;
}

void World::plant() {
  if (options_.plant == Plant::kNothing || options_.plant == Plant::kStepTwice ||
      options_.plant == Plant::kStepStays || !controller_.up())
    return;
  const ClusterState& state = controller_.state();
  const Job* prey = nullptr;
  state.pending.for_each([&](JobId id) {
    if (is_prey(state.jobs.at(id))) prey = &state.jobs.at(id);
  });
  if (prey == nullptr) return;
  JobStarted event;
  event.record = prey->id;
  event.partition = "main";
  event.time = now_;
  event.time_limit = prey->time_limit;
  event.end = now_ + std::chrono::minutes(std::max<Minutes>(1, prey->time_limit));
  if (options_.plant == Plant::kOutsideOfReservation) {
    for (const Reservation& one : *state.reservations) {
      if (prey->spec->reservation.view().starts_with(one.name)) event.reservation = one.name;
    }
    if (event.reservation.empty()) return;
  }
  if (options_.plant == Plant::kTooLong) event.end += std::chrono::hours(1);
  auto allocation = wrong_allocation();
  if (allocation == nullptr) return;
  const bool waits_as_array = prey->array != nullptr && prey->array->task == kNoTask;
  const uint32_t task = waits_as_array ? prey->array->pending.front() : kNoTask;
  const bool is_last = !waits_as_array || prey->array->pending.size() == 1;
  event.starts.push_back({task, is_last ? prey->id : state.next_job_id, allocation});
  controller_.plant({Event(event)});
}

// A node that starts what it has started.
void World::plant_in(FakeNode& node, const StepKey& key, const FakeStep& step) {
  if (options_.plant != Plant::kStepTwice) return;
  node.terminate_step(key);
  node.forget_acknowledged(key);
  node.remove_key_file(key);
  if (node.launch(key, step)) watch(node, key);
}

}  // namespace sluice::sim
