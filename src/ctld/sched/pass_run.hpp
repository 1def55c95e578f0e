// One pass at work. plan_pass() runs it to its end; `sluice explain` stops it before a job, to see
// what that job finds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ctld/sched/kept_plan.hpp"
#include "ctld/sched/license_plan.hpp"
#include "ctld/sched/limit_plan.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/sched/preempt.hpp"
#include "ctld/sched/resources.hpp"
#include "ctld/sched/stage_times.hpp"
#include "ctld/sched/start_finder.hpp"
#include "ctld/sched/why.hpp"
#include "ctld/state/rules/licenses.hpp"

namespace sluice::sched {

class PassRun {
 public:
  // `state` outlives this.
  PassRun(const state::ClusterState& state, Policies policies, Time now, const WorkBudget& budget);

  Plan run();

  // Considers what goes before `job` in this partition, and nothing more. Then resources() is what
  // the job finds there. False: the job is not a candidate there.
  bool run_until(JobId job, const state::Partition& partition);
  // Runs until the job (of an array: one of its tasks) is started. False: it is not.
  bool run_until_started(JobId job);
  // Up to the job's turn, which it takes; what it got is told (test_start_in_turn()).
  [[nodiscard]] std::optional<TestStart> run_to_test(JobId job);
  [[nodiscard]] const Resources& resources() const { return resources_; }
  // After run_until(): whether the job would start there if it were this one, which waits for
  // nothing but its turn and is no part of an array or a heterogeneous job. nullopt: it would have
  // its turn at another time.
  [[nodiscard]] std::optional<bool> would_start(const Job& job, const state::Partition& partition);
  // After run_until(): which limit of an association or a QOS does not let the job start there, and
  // when it does, as far as that can be foreseen. nullopt: none.
  struct OverLimit {
    state::LimitHit hit;
    std::optional<Time> until;
  };
  [[nodiscard]] std::optional<OverLimit> over_limit(const Job& job,
                                                    const state::Partition& partition,
                                                    const Reservation* reservation);

 private:
  // A pending record in one of the partitions it asks for.
  struct Candidate {
    uint64_t rank = 0;   // rank_of(); larger goes first
    uint32_t entry = 0;  // in jobs_ and the soft view: in the order of the ids
    uint32_t partition = 0;
  };
  // Candidates of one job that follow one another: it starts in the first partition that has room
  // now, or is planned where it can start first.
  using Group = std::span<const Candidate>;
  // Jobs that ask the same in the same partition.
  struct DemandKey {
    const JobSpec* spec = nullptr;
    const state::Partition* partition = nullptr;
    const Reservation* reservation = nullptr;
    uint32_t uid = 0;                            // where users are kept apart; else 0
    std::optional<Duration> leaves_within = {};  // where there are reservations
  };
  struct DemandHash {
    size_t operator()(const DemandKey& k) const;
  };
  struct DemandEqual {
    bool operator()(const DemandKey& a, const DemandKey& b) const;
  };
  struct Demand {
    explicit Demand(Result<Request> r) : request(std::move(r)) {}
    Result<Request> request;
    std::unique_ptr<StartFinder> finder;  // once it was looked for
    std::optional<Waiting> waiting;       // why it cannot start now, once that was found out
    bool nobody_makes_room = false;
    std::optional<TresAmounts> asked;  // at least, for limits
  };
  // A candidate that finds no room now.
  struct Blocked {
    Candidate candidate;
    Demand* demand = nullptr;
  };

  // All jobs that wait, and nodes that settle.
  void collect();
  void collect_active();
  // Which of them may start, and where; then in which order.
  void collect_eligible();
  void prioritise();
  void sort();
  // The candidates from here on that are of one job.
  [[nodiscard]] Group group_at(size_t first) const;
  [[nodiscard]] JobId job_of(Group group) const { return jobs_[group.front().entry]->id; }
  // All groups have their turn, in order. Ends where `before` or `after` the turn of a group says
  // so, which is true then.
  template <class Before, class After>
  bool take_turns(Before before, After after) {
    collect();
    for (size_t at = 0; at < candidates_.size();) {
      const Group group = group_at(at);
      at += group.size();
      if (before(group)) return true;
      consider_group(group);
      if (after(group)) return true;
    }
    return false;
  }
  [[nodiscard]] const std::vector<uint32_t>& partitions_of(const Job& job);
  void consider_group(Group group);
  // Jobs that were suspended for others, of this tier or a higher one, go before all that wait:
  // those that this pass suspends keep their place for when they can go on.
  void plan_resumes(uint64_t tier);
  void add_suspended(const Job& job);
  void sort_suspended();
  void note_suspended(const std::vector<JobId>& preempted);
  void take_turn(Group group);
  void consider(const Candidate& c);
  // The partition starts nothing more in this pass: strict order (sched/builtin), nodes that settle
  // (CompleteWait), or a limit (assoc_limit_stop).
  [[nodiscard]] bool is_closed(const Candidate& c);
  [[nodiscard]] bool is_out_of_budget();
  // Looks at the clock; once it is, it stays so.
  bool is_out_of_time();
  // Tries it in this reservation (null: in none). `last`: there is nothing else to try, it has to
  // wait.
  void consider_in(const Candidate& c, const Reservation* reservation, bool last);
  // It waits for the nodes that an earlier pass planned for it; false: they have to be looked for.
  [[nodiscard]] bool keep_start(const Candidate& c);
  // Whether a start found for it now is the earliest until something more is free.
  [[nodiscard]] bool may_be_kept(const Job& job, const Request& request) const;
  [[nodiscard]] Demand& demand_of(const Job& job, const state::Partition& partition,
                                  const Reservation* reservation);
  [[nodiscard]] StartFinder& finder_of(Demand& demand);
  void start_tasks(const Candidate& c, Demand& demand, bool last);
  // How many tasks of the job's array may begin, by its %limit.
  [[nodiscard]] uint32_t tasks_that_may_run(const Job& job) const;
  // Where it can start now; nullopt: there is no room, or a limit does not let it (limited_).
  struct StartNow {
    std::vector<NodeAllocation> nodes;
    Minutes limit = 0;
    bool is_shorter = false;  // than what it asked for (--time-min, its deadline)
  };
  [[nodiscard]] std::optional<StartNow> find_now(const Job& job, const state::Partition& partition,
                                                 Demand& demand);
  [[nodiscard]] bool would_start_in(const Job& job, const state::Partition& partition,
                                    const Reservation* reservation);
  // False: as find_now().
  [[nodiscard]] bool try_start(const Candidate& c, Demand& demand, uint32_t task);
  // It waits for room, or for what does not let it start.
  void wait_here(const Candidate& c, Demand& demand);
  // The job keeps nodes from when its limits let it start, if that can be told.
  void plan_limited(const Candidate& c, Demand& demand);
  [[nodiscard]] std::optional<JobReason> limit_on(const Job& job, const state::Partition& partition,
                                                  Demand& demand, Minutes limit);
  // With these nodes; what it would hold is fitting_ when there is none.
  [[nodiscard]] std::optional<JobReason> check_limits(const Job& job,
                                                      const state::Partition& partition,
                                                      std::vector<NodeAllocation>& nodes,
                                                      Minutes limit);
  // The same; where a limit of nodes does not let it, on those first that its jobs use already.
  struct Tried {
    const Demand& demand;
    const StartFinder::Wanted& wanted;
    Minutes limit = 0;
  };
  [[nodiscard]] std::optional<JobReason> fit_limits(const Job& job,
                                                    const state::Partition& partition,
                                                    const Tried& tried,
                                                    std::vector<NodeAllocation>& nodes);
  // As check_limits(), and it holds that then.
  [[nodiscard]] std::optional<JobReason> take_limits(const Job& job,
                                                     const state::Partition& partition,
                                                     std::vector<NodeAllocation>& nodes,
                                                     Minutes limit);
  // After a limit of nodes: on those first that its jobs use already, where they count no more.
  [[nodiscard]] bool place_on_used(const Demand& demand, const StartFinder::Wanted& wanted,
                                   std::vector<NodeAllocation>& nodes);
  // Jobs that a limit holds back start in the soft QOS (pass_soft.cpp), where they fit beside all
  // that was started and planned.
  void start_softly();
  void start_softly(const Blocked& blocked);
  // Whether the job, which limited_ holds back, may.
  [[nodiscard]] bool may_run_softly(const Candidate& c) const;
  // Licenses that it cannot have from now on, for as long as it lasts at least.
  [[nodiscard]] bool lacks_licenses(const Job& job, const Reservation* own,
                                    const state::Partition& partition) const;
  // When and where it could start, with its licenses.
  [[nodiscard]] std::optional<FoundStart> find_start(Demand& demand, const Job& job,
                                                     StartFinder::Wanted wanted);
  // The earliest of them from that time on that its limits let it have, with what the nodes give
  // it.
  [[nodiscard]] std::optional<FoundStart> find_limited(const Candidate& c, Demand& demand,
                                                       StartFinder::Wanted wanted);
  // For how long it may run at least.
  [[nodiscard]] Minutes least_limit(const Job& job, const state::Partition& partition) const;
  [[nodiscard]] StartFinder::Wanted wanted_by(const Job& job, Demand& demand, Minutes limit);
  // Jobs that name a reservation go before all others, as in Slurm; then the tier and the priority.
  static constexpr uint64_t kReservedRank = uint64_t{1} << 63;
  [[nodiscard]] static uint64_t rank_of(const Job& job, const PartitionConfig& partition,
                                        uint32_t priority) {
    const uint64_t rank = uint64_t{partition.priority_tier} << 32 | priority;
    return job.spec->reservation.empty() ? rank : rank | kReservedRank;
  }
  [[nodiscard]] uint32_t priority_in(const Job& job, const PartitionConfig& partition) const;
  // There is more to plan then, without any news.
  void look_again(Time then) { plan_.again = std::min(plan_.again, std::max(then, now_)); }
  void plan_start(const Job& job, const Request& request, std::vector<NodeAllocation> chosen,
                  uint32_t task, Minutes shorter_limit = 0);  // 0: as long as it asked for

  // Heterogeneous jobs (pass_het.cpp): the first component is the candidate for all.
  struct HetPart {
    uint32_t entry = 0;
    const Job* job = nullptr;
    const state::Partition* partition = nullptr;
    Demand* demand = nullptr;
  };
  void consider_het(const Candidate& c);
  // The components that wait, with what they ask in the first partition that lets them in; empty:
  // not all may start (the reason is told).
  [[nodiscard]] std::vector<HetPart> het_parts(const Candidate& c);
  // nullopt: they start; else what was lacking.
  [[nodiscard]] std::optional<JobReason> start_het(const std::vector<HetPart>& parts);
  // All components beside one another at that moment, which is theirs then.
  [[nodiscard]] bool plan_het_at(const std::vector<HetPart>& parts, Tick at, Bitmap& nodes);
  void plan_het(const Candidate& c, const std::vector<HetPart>& parts);
  // Others are preempted for the components that find no room; the others keep what they find.
  // False: it is not enough for all, and nobody is.
  [[nodiscard]] bool preempt_for_het(const Candidate& c, const std::vector<HetPart>& parts);
  void wait_het(const Candidate& c, JobReason reason, const std::string& detail = {});

  // Jobs that wait (pass_wait.cpp). The one of waiting_here_: others are preempted for it, or it is
  // planned for later.
  void resolve();
  [[nodiscard]] bool preempt_for(const Blocked& blocked);
  // Plans who is preempted for it; it has the room from then on.
  // `limited`: a limit does not let it have the nodes that it would get. Where it gets them they
  // count against its limits from then on.
  [[nodiscard]] std::optional<Preemption::Outcome> make_room(const Blocked& blocked, bool& limited);
  [[nodiscard]] bool may_preempt(const Blocked& blocked) const;
  // The earliest start among these, which it keeps.
  void plan_later(const std::vector<Blocked>& blocked);
  void plan_more_tasks(const Blocked& blocked, const Job& job, Tick at);
  // Why it has to wait, once it is found out.
  void explain(const Job& job, Demand& demand, const state::Partition& partition);
  void tell_why(const Blocked& blocked, bool found);
  [[nodiscard]] bool may_plan(const Candidate& c) const;
  // Not more jobs of its user and partition than BackfillBounds has were looked at.
  [[nodiscard]] bool may_backfill(const Candidate& c);
  [[nodiscard]] bool is_forecast_before(const Candidate& c, Time start) const;
  void set_forecast(const Candidate& c, Time start, const Bitmap& nodes);
  void set_forecast(const Candidate& c, Time start, const std::vector<NodeAllocation>& parts);
  void set_forecast(const Candidate& c, Time start, SharedText node_list);
  // What is claimed next is its start, and may stay in the next pass.
  void let_stay(const Candidate& c, const Waiting& waiting, Time start);
  // What is known of jobs that there was no time for.
  void keep_previous_hints();
  void remember_reasons();
  void wait(const Candidate& c, JobReason reason, const std::string& detail = {});

  const state::ClusterState& state_;
  const Policies policies_;
  const Time now_;
  const WorkBudget budget_;
  StageTimer timer_;
  Resources resources_;
  LicensePlan license_plan_;
  state::LicensePool licenses_;
  LimitPlan limits_;
  Preemption preemption_;
  PlanRepair repair_;
  std::unordered_map<size_t, MayStay> may_stay_;  // by place among the claims
  bool alone_ = false;                            // the job asks for one partition
  Finders finders_;
  Plan plan_;
  std::shared_ptr<SchedulerView> soft_ = std::make_shared<SchedulerView>();
  std::vector<const Job*> jobs_;  // by entry
  std::vector<bool> eligible_;    // by entry
  std::vector<bool> gone_;        // by entry: it was started, of an array all tasks
  std::vector<bool> planned_;     // by entry: it keeps nodes for later
  std::vector<bool> looked_at_;   // by entry: there was time for it
  std::vector<Candidate> candidates_;
  std::vector<std::pair<uint64_t, const Job*>> suspended_;  // for others: lowest tier first
  std::vector<Blocked> waiting_here_;                       // candidates of the present group
  std::vector<SharedText> names_;                           // of partitions
  std::vector<uint32_t> blocked_;  // by partition: jobs of higher priority that wait for nodes
  // by partition: a job completes on nodes of it, and has for less than CompleteWait
  std::vector<bool> settles_;
  bool in_strict_order_ = false;  // sched/builtin
  bool by_qos_ = false;           // preempt/qos
  uint32_t preemptors_ = 0;
  std::unordered_map<DemandKey, Demand, DemandHash, DemandEqual> demands_;
  std::pair<const DemandKey, Demand>* last_demand_ = nullptr;  // most neighbours ask the same
  std::unordered_map<JobId, IndexSet> tasks_left_;     // of arrays this pass took tasks from
  std::unordered_map<JobId, uint32_t> tasks_started_;  // by array
  SharedText last_text_;                               // partitions of the last job looked up
  std::vector<uint32_t> last_partitions_;
  std::vector<uint32_t> looked_at_in_;  // jobs looked at, by partition
  std::vector<bool> stopped_;           // by partition: WorkBudget::limits_stop
  std::vector<uint32_t> backfilling_;   // jobs of lower priority looked at, by partition
  std::unordered_map<AssociationId, uint32_t> of_associations_;    // the same by association
  std::unordered_map<uint32_t, uint32_t> of_users_;                // the same by user
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_users_in_;  // and by user and partition
  std::optional<uint64_t> turn_;         // rank of the job that run_until() stopped at
  LimitPlan::Start fitting_;             // what check_limits() found
  std::optional<JobReason> limited_;     // by which limit the last try to start failed
  uint32_t placed_on_used_ = 0;          // attempts
  uint32_t limited_planned_ = 0;         // jobs that a limit holds back, planned or tried
  const QosRecord* soft_qos_ = nullptr;  // SluiceParameters=soft_limit_qos; null: limits are hard
  std::vector<Blocked> over_limits_;     // candidates that may start in it
  bool softly_ = false;                  // that is being tried
  uint32_t failed_tests_ = 0;
  uint32_t until_clock_ = 0;             // candidates before budget_.out_of_time is asked again
  bool some_share_with_nobody_ = false;  // jobs of --exclusive=user: what fits depends on the user
};

}  // namespace sluice::sched
