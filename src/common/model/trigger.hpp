// strigger: a program that is run when something has happened to nodes, a job or a daemon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/describe.hpp"
#include "common/base/ids.hpp"
#include "common/base/time.hpp"

namespace sluice {

// What a trigger watches. Values are journaled: add, never renumber.
enum class TriggerResource : uint8_t {
  kNode = 0,
  kJob = 1,
  kController = 2,
  kDbd = 3,
  kDatabase = 4,
  kBurstBuffer = 5
};

// What it waits for, a bit each.
using TriggerEvents = uint64_t;
inline constexpr TriggerEvents kTriggerUp = 1U << 0;
inline constexpr TriggerEvents kTriggerDown = 1U << 1;
inline constexpr TriggerEvents kTriggerFail = 1U << 2;
inline constexpr TriggerEvents kTriggerTime = 1U << 3;  // the job's time limit is near
inline constexpr TriggerEvents kTriggerFini = 1U << 4;  // the job has ended
inline constexpr TriggerEvents kTriggerReconfigured = 1U << 5;
inline constexpr TriggerEvents kTriggerIdle = 1U << 6;
inline constexpr TriggerEvents kTriggerDrained = 1U << 7;
inline constexpr TriggerEvents kTriggerDraining = 1U << 8;
inline constexpr TriggerEvents kTriggerResume = 1U << 9;  // the node is to be powered up
inline constexpr TriggerEvents kTriggerPrimaryFailure = 1U << 10;
inline constexpr TriggerEvents kTriggerPrimaryResumed = 1U << 11;
inline constexpr TriggerEvents kTriggerPrimaryControl = 1U << 12;
inline constexpr TriggerEvents kTriggerBackupFailure = 1U << 13;
inline constexpr TriggerEvents kTriggerBackupResumed = 1U << 14;
inline constexpr TriggerEvents kTriggerBackupControl = 1U << 15;
inline constexpr TriggerEvents kTriggerBufferFull = 1U << 16;
inline constexpr TriggerEvents kTriggerDbdFailure = 1U << 17;
inline constexpr TriggerEvents kTriggerDbdResumed = 1U << 18;
inline constexpr TriggerEvents kTriggerDatabaseFailure = 1U << 19;
inline constexpr TriggerEvents kTriggerDatabaseResumed = 1U << 20;
inline constexpr TriggerEvents kTriggerBurstBuffer = 1U << 21;

struct Trigger {
  uint32_t id = 0;
  TriggerResource resource = TriggerResource::kNode;
  TriggerEvents events = 0;
  std::string nodes;  // host list; empty: every node
  JobId job = kNoJob;
  int64_t offset_seconds = 0;  // before the event when negative
  bool permanent = false;      // stays after it has fired
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string user_name;
  std::string program;  // and its arguments, separated by blanks

  // what has happened since it was set, or last fired
  Time due = kNoTime;  // when the program is run; kNoTime: nothing has happened yet
  Bitmap hit;          // NodeIds that the event has happened to
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &Trigger::id);
    field(2, "resource", &Trigger::resource);
    field(3, "events", &Trigger::events);
    field(4, "nodes", &Trigger::nodes);
    field(5, "job", &Trigger::job);
    field(6, "offset_seconds", &Trigger::offset_seconds);
    field(7, "permanent", &Trigger::permanent);
    field(8, "uid", &Trigger::uid);
    field(9, "gid", &Trigger::gid);
    field(10, "user_name", &Trigger::user_name);
    field(11, "program", &Trigger::program);
    field(12, "due", &Trigger::due);
    field(13, "hit", &Trigger::hit);
  }
};
using Triggers = std::vector<Trigger>;

}  // namespace sluice
