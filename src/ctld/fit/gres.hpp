// Generic resources in placement: what a job needs of them, how far a node's free ones go, and
// which units and cores a job gets. A job without any pays for one look at an empty vector.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/gres.hpp"
#include "common/model/job_spec.hpp"

namespace sluice::fit {

struct Needs;
struct Room;
struct Capacity;

// Of one name and type. How many a node gives: per_node, else by its sockets or tasks, else a part
// of per_job.
struct GresNeed {
  SharedText name;
  SharedText type;  // empty: any
  uint64_t per_node = 0;
  uint64_t per_job = 0;
  uint64_t per_task = 0;
  uint64_t per_socket = 0;
  uint32_t tasks_per_unit = 0;  // --ntasks-per-gpu

  // The nodes' parts differ and make up a sum.
  [[nodiscard]] bool is_dealt() const {
    return per_job > 0 && per_node == 0 && per_task == 0 && per_socket == 0 && tasks_per_unit == 0;
  }
};

// Sets `member` of each need that a list of items names; those that are new are added.
// kInvalidGres.
[[nodiscard]] Status add_gres_items(std::string_view list, uint64_t GresNeed::*member,
                                    std::vector<GresNeed>& needs);

// Fills in what the spec says of generic resources. kInvalidGres, kGresTypes: it cannot be meant
// so.
[[nodiscard]] Status set_gres(const JobSpec& spec, Needs& needs);
// The number of tasks follows from --gpus with --ntasks-per-gpu or --gpus-per-task. Errors as
// above.
[[nodiscard]] Status complete_gres(JobSpec& spec);

// Lowers tasks and CPUs to what the room's generic resources allow; false: it cannot serve.
[[nodiscard]] bool limit_by_gres(const Needs& needs, const Room& room, Capacity& most);

// Units of each need on a node that gets so many tasks; `dealt` has its parts of the needs that
// are dealt (by need; may be empty).
[[nodiscard]] std::vector<uint64_t> gres_counts(const Needs& needs, uint32_t tasks,
                                                std::span<const uint64_t> dealt);
[[nodiscard]] uint64_t gpus_in(const Needs& needs, std::span<const uint64_t> counts);
// All of the node, for a job that has it whole: GPUs that it asked for in parts (shard, mps) are
// served so.
[[nodiscard]] GresShares choose_whole_gres(const Needs& needs, const Room& room,
                                           std::span<const uint64_t> counts);
// Which units, near free cores if possible. `counts` is what limit_by_gres() allowed.
[[nodiscard]] GresShares choose_gres(const Needs& needs, const Room& room,
                                     std::span<const uint64_t> counts);
// The room's free cores that are near the units; all of them where nothing is said of that.
[[nodiscard]] Bitmap cores_near(const Room& room, const GresShares& shares);

// How many of each kind of the room's inventory are free.
[[nodiscard]] std::vector<uint64_t> free_counts(const Room& room);
// Lowers counts of free_counts() by what is taken of the room.
void take_spare(std::vector<uint64_t>& spare, const Room& room, const GresShares& taken);
// Takes away what is free beyond `spare`, by kind.
void hold_back(Room& room, std::span<const uint64_t> spare);

}  // namespace sluice::fit
