#include "dbd/rpc/followers.hpp"

#include <algorithm>
#include <map>

#include "common/os/clock.hpp"

namespace sluice::dbd {

using protocol::QueryAccountingRecordsReply;

Followers::Followers() {
  thread_.start([this] {
    while (thread_.rest(std::chrono::seconds(1))) answer_late(net::now(), false);
  });
}

void Followers::ask(const protocol::QueryAccountingRecordsRequest& request,
                    const std::shared_ptr<const Entities>& entities, Answer answer) {
  if (entities->version != request.known_version)
    return answer.reply({false, records_of(*entities, request.cluster)});
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_ && waiting_.size() < kMost) {
      waiting_.push_back(
          {request.cluster, request.known_version, net::now() + kLongest, std::move(answer)});
      return;
    }
  }
  QueryAccountingRecordsReply reply;
  reply.unchanged = true;
  answer.reply(reply);
}

void Followers::changed(const std::shared_ptr<const Entities>& entities) {
  std::vector<Waiting> told;
  {
    const std::lock_guard lock(mutex_);
    const auto stay = std::partition(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
      return one.known_version == entities->version;
    });
    std::move(stay, waiting_.end(), std::back_inserter(told));
    waiting_.erase(stay, waiting_.end());
  }
  std::map<std::string, QueryAccountingRecordsReply> replies;  // of several controllers of one
  for (Waiting& one : told) {
    auto [it, is_new] = replies.try_emplace(one.cluster);
    if (is_new) it->second.records = records_of(*entities, one.cluster);
    one.answer.reply(it->second);
  }
}

void Followers::answer_late(Time at, bool all) {
  std::vector<Waiting> late;
  {
    const std::lock_guard lock(mutex_);
    const auto stay = std::partition(waiting_.begin(), waiting_.end(),
                                     [&](const Waiting& one) { return !all && one.until > at; });
    std::move(stay, waiting_.end(), std::back_inserter(late));
    waiting_.erase(stay, waiting_.end());
  }
  QueryAccountingRecordsReply reply;
  reply.unchanged = true;
  for (Waiting& one : late) one.answer.reply(reply);
}

void Followers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  thread_.stop();
  answer_late(Time(), true);
}

}  // namespace sluice::dbd
