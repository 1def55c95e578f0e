// Events of what administrators and mails need: time limits that are near, changed steps, triggers,
// crontabs, partitions, nodes that no file names, reservations. A part of events.hpp, and of the
// journal's format in the same way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/crontab.hpp"
#include "common/model/node_config.hpp"
#include "common/model/reservation.hpp"
#include "common/model/step.hpp"
#include "common/model/trigger.hpp"
#include "common/model/user_groups.hpp"

namespace sluice::state {

// slurmctld -c: all that was known is forgotten, but for the cluster's id and which job ids were
// given.
struct StateForgotten {
  static constexpr uint32_t kTag = 66;
  static constexpr const char* kName = "StateForgotten";
  Time time = kNoTime;
  // What accounting says, and what was used until now, which no job tells again, stays. Those of
  // before were without it.
  bool keeps_accounting = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "time", &StateForgotten::time);
    field(2, "keeps_accounting", &StateForgotten::keeps_accounting);
  }
};

// The groups of a user were looked up, and are not those that were known.
struct UserGroupsFound {
  static constexpr uint32_t kTag = 230;
  static constexpr const char* kName = "UserGroupsFound";
  UserGroups user;
  template <class V>
  static void describe(V&& field) {
    field(1, "user", &UserGroupsFound::user);
  }
};

// So much of the time limit is over (--mail-type=TIME_LIMIT_50 …).
struct JobLimitNear {
  static constexpr uint32_t kTag = 60;
  static constexpr const char* kName = "JobLimitNear";
  JobId job = kNoJob;
  uint32_t percent = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobLimitNear::job);
    field(2, "percent", &JobLimitNear::percent);
  }
};
struct StepUpdated {
  static constexpr uint32_t kTag = 61;
  static constexpr const char* kName = "StepUpdated";
  StepId id;
  std::shared_ptr<const StepSpec> spec;  // as it is afterwards
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &StepUpdated::id);
    field(2, "spec", &StepUpdated::spec);
  }
};
struct TriggerSet {
  static constexpr uint32_t kTag = 62;
  static constexpr const char* kName = "TriggerSet";
  Trigger trigger;
  template <class V>
  static void describe(V&& field) {
    field(1, "trigger", &TriggerSet::trigger);
  }
};
struct TriggersCleared {
  static constexpr uint32_t kTag = 63;
  static constexpr const char* kName = "TriggersCleared";
  std::vector<uint32_t> ids;
  template <class V>
  static void describe(V&& field) {
    field(1, "ids", &TriggersCleared::ids);
  }
};
// Its program is run now; it is gone afterwards unless it is permanent.
struct TriggerFired {
  static constexpr uint32_t kTag = 64;
  static constexpr const char* kName = "TriggerFired";
  Trigger trigger;       // as it was
  std::string resource;  // what the program is told: nodes, a job, …
  template <class V>
  static void describe(V&& field) {
    field(1, "trigger", &TriggerFired::trigger);
    field(2, "resource", &TriggerFired::resource);
  }
};
// A user's crontab, as it is afterwards; empty: there is none.
struct CrontabReplaced {
  static constexpr uint32_t kTag = 65;
  static constexpr const char* kName = "CrontabReplaced";
  Crontab crontab;
  template <class V>
  static void describe(V&& field) {
    field(1, "crontab", &CrontabReplaced::crontab);
  }
};
struct PartitionChanged {  // or created
  static constexpr uint32_t kTag = 33;
  static constexpr const char* kName = "PartitionChanged";
  std::shared_ptr<const PartitionConfig> config;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &PartitionChanged::config);
  }
};
struct PartitionDeleted {
  static constexpr uint32_t kTag = 34;
  static constexpr const char* kName = "PartitionDeleted";
  std::string name;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &PartitionDeleted::name);
  }
};
// Nodes that no file names (scontrol create, slurmd -Z). Partitions of ALL nodes, and node sets by
// their features, have them too.
struct NodesCreated {
  static constexpr uint32_t kTag = 180;
  static constexpr const char* kName = "NodesCreated";
  std::vector<NodeConfig> nodes;
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &NodesCreated::nodes);
    field(2, "time", &NodesCreated::time);
  }
};
struct NodesDeleted {
  static constexpr uint32_t kTag = 181;
  static constexpr const char* kName = "NodesDeleted";
  std::vector<std::string> names;
  template <class V>
  static void describe(V&& field) {
    field(1, "names", &NodesDeleted::names);
  }
};
// Made, or changed: as it is afterwards.
struct ReservationChanged {
  static constexpr uint32_t kTag = 200;
  static constexpr const char* kName = "ReservationChanged";
  Reservation reservation;
  template <class V>
  static void describe(V&& field) {
    field(1, "reservation", &ReservationChanged::reservation);
  }
};
struct ReservationDeleted {
  static constexpr uint32_t kTag = 201;
  static constexpr const char* kName = "ReservationDeleted";
  uint32_t id = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &ReservationDeleted::id);
  }
};
// It begins, or is over (for this time): ResvProlog or ResvEpilog is run.
struct ReservationTurned {
  static constexpr uint32_t kTag = 202;
  static constexpr const char* kName = "ReservationTurned";
  uint32_t id = 0;
  bool begins = false;
  std::string name;  // it may be gone
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &ReservationTurned::id);
    field(2, "begins", &ReservationTurned::begins);
    field(3, "name", &ReservationTurned::name);
  }
};

}  // namespace sluice::state
