#include "ctld/sched/change.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "common/base/text.hpp"
#include "common/model/job_update.hpp"
#include "common/syntax/licenses.hpp"
#include "ctld/sched/explain/explain_nodes.hpp"
#include "ctld/sched/pass_run.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/limits/soft_qos.hpp"
#include "ctld/state/rules/access.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {
namespace {

using state::Accounting;
using state::ClusterState;

class Search {
  static constexpr size_t kMostEnds = 4;

 public:
  Search(const ClusterState& state, const Job& job, Time now, PassBudget& budget,
         std::unique_ptr<PassRun> turn)
      : state_(state),
        job_(job),
        spec_(*job.spec),
        now_(now),
        budget_(budget),
        turn_(std::move(turn)) {}

  std::optional<Change> run() {
    make_eligible();
    if (works(base_)) return done(base_);
    look_at_its_turn();
    for (const auto& single :
         {&Search::shorter, &Search::more_of_array, &Search::fewer_tasks, &Search::fewer_cpus,
          &Search::less_memory, &Search::fewer_nodes, &Search::fewer_licenses, &Search::drop_one,
          &Search::other_partition, &Search::other_account}) {
      if (auto update = (this->*single)()) return done(*update);
    }
    if (auto update = several()) return done(*update);
    const bool all_tried = by_admin_;
    by_admin_ = true;
    if (!all_tried && (spec_.contiguous || fit::asks_alone(spec_.sharing))) {
      if (auto update = drop_one()) return done(*update);
      if (auto update = several()) return done(*update);
    }
    if (auto update = higher_priority()) return done(*update);
    return std::nullopt;
  }

 private:
  using Found = std::optional<JobUpdate>;

  Change done(const JobUpdate& update) const { return {update, by_admin_}; }

  // Does the job start once the update is made? Once the budget is spent: it cannot be said, so no.
  bool works(const JobUpdate& update) {
    state::UpdateJob command;
    if (!by_admin_) command.who = {spec_.uid, spec_.gid};
    command.target = shown_id(job_);
    command.update = update;
    command.owner_groups =
        state::known_groups(state_, spec_.uid).value_or(std::vector<std::string>());
    const auto decision = state::decide(state_, command, now_);
    if (!decision) return false;
    ClusterState after = state_;
    for (const state::Event& event : decision->events) state::apply(after, event);
    const std::optional<bool> starts = starts_at_its_turn(after);
    if (starts) return *starts;
    return budget_.take() && budget_.make_pass(after, now_)->run_until_started(job_.id);
  }

  // Most changes leave the job where it is in the queue: those before it are as they were, so one
  // pass up to its turn does for all. nullopt: that pass does not tell.
  std::optional<bool> starts_at_its_turn(const ClusterState& after) {
    const Job& changed = after.jobs.at(job_.id);
    const bool is_plain =
        job_.array == nullptr && job_.het == nullptr && state::find_soft_qos(state_) == nullptr;
    const std::vector<std::string> partitions = state::partitions_of(state_, changed);
    if (!is_plain || partitions.size() != 1 || partitions != state::partitions_of(state_, job_))
      return std::nullopt;
    const state::Partition* partition = state::find_partition(state_, partitions.front());
    if (partition == nullptr) return std::nullopt;
    if (turn_ == nullptr && !turn_tried_) make_turn(after, *partition);
    if (turn_ == nullptr || !budget_.take_try()) return std::nullopt;
    return turn_->would_start(changed, *partition);
  }
  // The first change that is tried lets the job wait for its turn alone.
  void make_turn(const ClusterState& after, const state::Partition& partition) {
    turn_tried_ = true;
    if (!budget_.take()) return;
    eligible_ = std::make_unique<ClusterState>(after);
    turn_ = budget_.make_pass(*eligible_, now_);
    if (!turn_->run_until(job_.id, partition)) turn_ = nullptr;
  }

  // Hold, begin time and dependency go in any case: nothing else helps while one of them stands.
  void make_eligible() {
    if (job_.hold != HoldKind::kNone) {
      base_.hold = false;
      by_admin_ = job_.hold == HoldKind::kAdmin;
    }
    if (spec_.begin > now_ || (job_.eligible != kNoTime && job_.eligible > now_))
      base_.begin = now_;
    if (!job_.dependency.empty()) base_.dependency = "";
  }

  // What the job finds, for its needs and for times before which it would have to end.
  void look_at_its_turn() {
    const fit::Rules rules = fit::rules_of(*state_.config);
    for (const std::string& name : state::partitions_of(state_, job_)) {
      const state::Partition* partition = state::find_partition(state_, name);
      if (partition == nullptr) continue;
      if (auto request = request_of(state_, rules, job_, *partition); request && !needs_)
        needs_ = request->needs;
      limit_ = std::max(limit_, limit_of(job_, *partition));
      if (partition->config->max_time < limit_) ends_.push_back(partition->config->max_time);
      if (turn_ != nullptr) {
        end_before_planned(*turn_, *partition);
      } else if (budget_.take()) {
        const auto run = budget_.make_pass(state_, now_);
        if (run->run_until(job_.id, *partition)) end_before_planned(*run, *partition);
      }
    }
    for (const Reservation& one : *state_.reservations)
      end_before(state::period_of(one, now_).start);
    std::ranges::sort(ends_, std::greater());
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    std::erase_if(ends_, [&](Minutes m) { return m >= limit_; });
    // the shortest may do where others do not
    if (ends_.size() > kMostEnds) ends_.erase(ends_.begin() + kMostEnds - 1, ends_.end() - 1);
  }
  void end_before_planned(const PassRun& turn, const state::Partition& partition) {
    const Resources& found = turn.resources();
    partition.nodes.for_each([&](size_t id) {
      const NodeSpan* planned = found.first_planned(static_cast<NodeId>(id));
      if (planned != nullptr) end_before(found.time_of(planned->from));
    });
  }
  void end_before(Time others_need) {
    if (others_need >= kNever || others_need <= now_) return;
    const auto minutes =
        std::chrono::duration_cast<std::chrono::minutes>(others_need - now_).count();
    if (minutes >= 1 && minutes < kInfiniteMinutes) ends_.push_back(static_cast<Minutes>(minutes));
  }

  Found shorter() {
    for (const Minutes minutes : ends_) {
      JobUpdate update = base_;
      update.time_limit = minutes;
      if (works(update)) return update;
    }
    return std::nullopt;
  }

  // The largest value below `now` with which it starts; set(update, value).
  template <class Number, class Set>
  Found largest_below(Number now, Set set) {
    if (now <= 1) return std::nullopt;
    JobUpdate update = base_;
    set(update, Number{1});
    if (!works(update)) return std::nullopt;
    Number low = 1, high = now;  // low works, high does not
    while (high - low > 1) {
      const Number middle = low + (high - low) / 2;
      set(update, middle);
      (works(update) ? low : high) = middle;
    }
    set(update, low);
    return update;
  }

  Found fewer_tasks() {
    return largest_below(spec_.num_tasks, [](JobUpdate& u, uint32_t n) { u.num_tasks = n; });
  }
  Found fewer_cpus() {
    if (auto found = largest_below(spec_.cpus_per_task,
                                   [](JobUpdate& u, uint32_t n) { u.cpus_per_task = n; })) {
      return found;
    }
    if (auto found = largest_below(spec_.min_cpus_per_node,
                                   [](JobUpdate& u, uint32_t n) { u.min_cpus_per_node = n; })) {
      return found;
    }
    return largest_below(spec_.min_cpus, [](JobUpdate& u, uint32_t n) { u.min_cpus = n; });
  }
  // One number would leave the most that the job asks for as it is.
  void set_nodes(JobUpdate& update, uint32_t number) const {
    update.min_nodes = number;
    if (spec_.max_nodes != 0) update.max_nodes = number;
  }
  Found fewer_nodes() {
    return largest_below(std::max(spec_.min_nodes, spec_.max_nodes),
                         [this](JobUpdate& u, uint32_t n) { set_nodes(u, n); });
  }
  Found less_memory() {
    if (!needs_ || !needs_->uses_memory) return std::nullopt;
    const auto per_node = [](JobUpdate& u, uint64_t mib) { u.memory_per_node_mib = mib; };
    if (needs_->all_memory) return largest_below(most_memory(), per_node);
    if (needs_->memory_per_node_mib > 0)
      return largest_below(needs_->memory_per_node_mib, per_node);
    return largest_below(needs_->memory_per_cpu_mib,
                         [](JobUpdate& u, uint64_t mib) { u.memory_per_cpu_mib = mib; });
  }
  uint64_t most_memory() const {
    uint64_t most = 0;
    state_.nodes.for_each(
        [&](const Node& node) { most = std::max(most, node.config->real_memory_mib); });
    return most + 1;
  }

  Found fewer_licenses() {
    const auto counts = parse_licenses(spec_.licenses.view());
    if (!counts) return std::nullopt;
    for (const auto& license : *counts) {
      auto found = largest_below(license.second, [&](JobUpdate& u, uint64_t n) {
        LicenseCounts fewer = *counts;
        fewer[license.first] = n;
        std::vector<std::string> all;
        for (const auto& [one, its] : fewer) all.push_back(one + ":" + std::to_string(its));
        u.licenses = join(all, ",");
      });
      if (found) return found;
    }
    return std::nullopt;
  }

  Found more_of_array() {
    if (job_.array == nullptr || job_.array->max_running == 0) return std::nullopt;
    const state::ArrayTasks* tasks = state_.arrays.find(job_.array->array_job);
    JobUpdate update = base_;
    update.array_max_running =
        std::max(job_.array->max_running, tasks == nullptr ? 0 : tasks->running) + 1;
    return works(update) ? Found(update) : std::nullopt;
  }

  // Constraints that can be left out altogether; two of them by administrators alone.
  std::vector<std::function<void(JobUpdate&)>> droppable() const {
    std::vector<std::function<void(JobUpdate&)>> all;
    if (spec_.contiguous && by_admin_) all.emplace_back([](JobUpdate& u) { u.contiguous = false; });
    if (fit::asks_alone(spec_.sharing) && by_admin_) {
      all.emplace_back([](JobUpdate& u) { u.sharing = Sharing::kOversubscribe; });
    }
    if (!spec_.required_nodes.empty())
      all.emplace_back([](JobUpdate& u) { u.required_nodes = ""; });
    if (!spec_.excluded_nodes.empty())
      all.emplace_back([](JobUpdate& u) { u.excluded_nodes = ""; });
    if (!spec_.constraint.empty()) all.emplace_back([](JobUpdate& u) { u.constraint = ""; });
    if (!spec_.licenses.empty()) all.emplace_back([](JobUpdate& u) { u.licenses = ""; });
    if (!spec_.reservation.empty()) all.emplace_back([](JobUpdate& u) { u.reservation = ""; });
    if (spec_.tmp_disk_mib > 0) all.emplace_back([](JobUpdate& u) { u.tmp_disk_mib = 0; });
    return all;
  }

  Found drop_one() {
    for (const auto& drop : droppable()) {
      JobUpdate update = base_;
      drop(update);
      if (works(update)) return update;
    }
    return std::nullopt;
  }

  Found other_partition() {
    const auto mine = state::partitions_of(state_, job_);
    for (const state::Partition& partition : *state_.partitions) {
      if (std::ranges::find(mine, partition.config->name) != mine.end()) continue;
      JobUpdate update = base_;
      update.partitions = partition.config->name;
      if (works(update)) return update;
    }
    return std::nullopt;
  }

  // Of its user's; what limits it may be a limit of its own.
  Found other_account() {
    constexpr size_t kMost = 16;  // each may take a pass
    const Accounting& accounting = state_.accounting;
    const auto user = accounting.names->users.find(spec_.uid);
    if (user == accounting.names->users.end()) return std::nullopt;
    std::set<std::string> accounts;
    accounting.associations.for_each([&](const AssociationRecord& record) {
      if (accounts.size() < kMost && record.user == user->second && record.account != spec_.account)
        accounts.insert(record.account);
    });
    for (const std::string& account : accounts) {
      JobUpdate update = base_;
      update.account = account;
      if (works(update)) return update;
    }
    return std::nullopt;
  }

  // Everything that may be asked less of.
  std::vector<std::function<void(JobUpdate&)>> reductions() const {
    auto all = droppable();
    if (spec_.num_tasks > 1) all.emplace_back([](JobUpdate& u) { u.num_tasks = 1; });
    if (spec_.cpus_per_task > 1) all.emplace_back([](JobUpdate& u) { u.cpus_per_task = 1; });
    if (spec_.min_cpus_per_node > 1)
      all.emplace_back([](JobUpdate& u) { u.min_cpus_per_node = 1; });
    if (spec_.min_cpus > 1) all.emplace_back([](JobUpdate& u) { u.min_cpus = 1; });
    if (std::max(spec_.min_nodes, spec_.max_nodes) > 1)
      all.emplace_back([this](JobUpdate& u) { set_nodes(u, 1); });
    if (needs_ && needs_->uses_memory) {
      const bool per_cpu = !needs_->all_memory && needs_->memory_per_node_mib == 0;
      all.emplace_back([per_cpu](JobUpdate& u) {
        (per_cpu ? u.memory_per_cpu_mib : u.memory_per_node_mib) = 1;
      });
    }
    if (!ends_.empty())
      all.emplace_back([end = ends_.back()](JobUpdate& u) { u.time_limit = end; });
    return all;
  }

  // Several changes at once: all of them, less each that turns out not to be needed.
  Found several() {
    auto all = reductions();
    const auto with = [&](const std::vector<bool>& used, const std::string& partition) {
      JobUpdate update = base_;
      if (!partition.empty()) update.partitions = partition;
      for (size_t i = 0; i < all.size(); ++i) {
        if (used[i]) all[i](update);
      }
      return update;
    };
    std::vector<std::string> partitions{""};
    for (const state::Partition& partition : *state_.partitions)
      partitions.push_back(partition.config->name);
    for (const std::string& partition : partitions) {
      std::vector<bool> used(all.size(), true);
      if (!works(with(used, partition))) continue;
      for (size_t i = 0; i < all.size(); ++i) {
        used[i] = false;
        used[i] = !works(with(used, partition));
      }
      return with(used, partition);
    }
    return std::nullopt;
  }

  Found higher_priority() {
    JobUpdate update = base_;
    update.priority = UINT32_MAX - 1;
    return works(update) ? Found(update) : std::nullopt;
  }

  const ClusterState& state_;
  const Job& job_;
  const JobSpec& spec_;
  const Time now_;
  PassBudget& budget_;
  std::unique_ptr<ClusterState> eligible_;  // that turn_ is of, where the job was not eligible
  std::unique_ptr<PassRun> turn_;
  bool turn_tried_ = false;
  JobUpdate base_;
  bool by_admin_ = false;
  std::optional<fit::Needs> needs_;
  Minutes limit_ = 0;
  std::vector<Minutes> ends_;  // limits with which the job ends before nodes are needed by another
};

}  // namespace

std::unique_ptr<PassRun> PassBudget::make_pass(const ClusterState& state, Time now) const {
  return std::make_unique<PassRun>(state, make_policies(state), now, WorkBudget{.kept = kept_});
}

std::optional<Change> find_change(const ClusterState& state, const Job& job, Time now,
                                  PassBudget& budget, std::unique_ptr<PassRun> turn) {
  return Search(state, job, now, budget, std::move(turn)).run();
}

}  // namespace sluice::sched
