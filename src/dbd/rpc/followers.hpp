// Controllers that follow the records of their cluster: each waits with its question until there is
// something that it does not know, or 30 s have passed. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/os/round_thread.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/rpc/responder.hpp"
#include "dbd/entities/entities.hpp"

namespace sluice::dbd {

class Followers {
 public:
  using Answer = net::Responder<protocol::QueryAccountingRecordsReply>;
  static constexpr Duration kLongest = std::chrono::seconds(30);
  static constexpr size_t kMost = 1000;  // that wait at once; others are answered

  Followers();
  ~Followers() { stop(); }

  // Answers at once where `entities` are not those of `known_version`, else later.
  void ask(const protocol::QueryAccountingRecordsRequest& request,
           const std::shared_ptr<const Entities>& entities, Answer answer);
  void changed(const std::shared_ptr<const Entities>& entities);
  void stop();  // all are answered "unchanged"

 private:
  struct Waiting {
    std::string cluster;
    uint64_t known_version = 0;
    Time until;
    Answer answer;
  };
  void answer_late(Time now, bool all);

  std::mutex mutex_;
  std::vector<Waiting> waiting_;  // guarded by mutex_
  bool stopped_ = false;          // guarded by mutex_
  RoundThread thread_;
};

}  // namespace sluice::dbd
