// What a daemon's log says of requests that were denied: forged or stale credentials, and what the
// caller has no right to. Of methods that change something it has what else was refused, too, with
// what was wrong. Whoever sends many of them fills no disk, and hides no other user's: after some
// lines of one user a second they are counted only.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice::net {

struct Refusal {
  std::string_view method;
  std::optional<uint32_t> uid;  // nothing: the caller did not prove who it is
  std::string_view peer;        // "10.0.0.1:4242"
  const Error& why;
  std::string_view subject = {};  // "JobId=17"; may be empty
  bool by_admin = false;          // root or SlurmUser
};

// Whether an error of this kind is one an administrator wants to know of.
[[nodiscard]] bool is_denial(ErrorCode code);

// The same for errors that say the same but for numbers in it ("it was issued 35 s ago").
[[nodiscard]] std::string cause_key(const Error& why);

class RefusalLog {
 public:
  // `repeated`: methods that daemons ask again every few seconds as long as they are refused. A
  // daemon and a cause get a line when they are new, then again after a minute, ten minutes, and
  // each hour that they last; and so does a host whose requests nobody's identity is proved of.
  // `changes`: methods by which users and administrators change something. `by_admins`: of these
  // the ones whose refusals are all told, also that nodes are busy.
  explicit RefusalLog(std::vector<std::string> repeated = {}, std::vector<std::string> changes = {},
                      std::vector<std::string> by_admins = {})
      : repeated_(std::move(repeated)),
        changes_(std::move(changes)),
        by_admins_(std::move(by_admins)) {}

  // The line to write of a denial, or nothing: when there have been too many, or an administrator
  // made a mistake.
  [[nodiscard]] std::optional<std::string> line(const Refusal& refusal, SteadyTime now);
  // Of a change that was refused for another reason; nothing: of no change, too many, or it is
  // tried again by itself.
  [[nodiscard]] std::optional<std::string> line_of_change(const Refusal& refusal, SteadyTime now);
  // Writes what there is to write. Any thread. What is kept of refusals has bounds, whatever texts
  // callers send.
  void note(const Refusal& refusal);

 private:
  struct Lasting {
    SteadyTime logged{}, seen{};
    size_t lines = 0;
    uint64_t left_out = 0;
    bool repeated = false;  // a daemon's, that asks every few seconds
  };
  static constexpr double kMost = 20;  // lines at once, and so many more each second
  struct Room {
    double lines = kMost;
    SteadyTime filled{};
    uint64_t left_out = 0;
    bool take(SteadyTime now);
  };
  // The refusal has a line that still stands; `left_out`: how many had none since the last line.
  bool is_told(const Refusal& refusal, SteadyTime now, uint64_t& left_out);

  Lasting& lasting(const std::string& key);  // the one not seen for longest goes for it
  using Rooms = std::map<uint32_t, Room>;    // by uid; kNoUid: nobody is proved
  static constexpr uint32_t kNoUid = UINT32_MAX;
  [[nodiscard]] static Room& room_of(Rooms& rooms, const Refusal& refusal);

  std::vector<std::string> repeated_, changes_, by_admins_;
  std::mutex mutex_;
  std::map<std::string, Lasting> lasting_;  // by host, user and cause; guarded by mutex_
  // each has lines of its own, so that many mistakes hide no denial; guarded by mutex_
  Rooms denials_, mistakes_;
};

}  // namespace sluice::net
