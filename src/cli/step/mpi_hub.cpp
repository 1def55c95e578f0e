#include "cli/step/mpi_hub.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/wire/codec.hpp"

namespace sluice::cli {

using protocol::MpiMessage;
using protocol::MpiMessageKind;

namespace {
constexpr int32_t kNodeGone = -1;
constexpr int32_t kNoRoom = -2;
constexpr int32_t kNotSpawned = -3;
constexpr size_t kMaxNameBytes = 16U << 20;  // that all tasks may publish
}  // namespace

void MpiHub::received(size_t node, MpiMessage message) {
  message.from = static_cast<uint32_t>(node);
  std::erase_if(message.nodes, [this](uint32_t other) { return other >= gone_.size(); });
  switch (message.kind) {
    case MpiMessageKind::kFence: return fence(std::move(message));
    case MpiMessageKind::kRequest:
    case MpiMessageKind::kReply: return pass_on(std::move(message));
    case MpiMessageKind::kTaskLost:
      for (size_t other = 0; other < gone_.size(); ++other) {
        if (other != node && !gone_[other]) handlers_.send(other, message);
      }
      return;
    case MpiMessageKind::kPublish: return publish(message);
    case MpiMessageKind::kLookup: return look_up(std::move(message));
    case MpiMessageKind::kUnpublish: return unpublish(message);
    case MpiMessageKind::kAbort: return handlers_.on_abort(message);
    case MpiMessageKind::kSpawn: return handlers_.on_spawn(message);
    case MpiMessageKind::kReady:
      if (ready_.insert(message.from).second && ready_.size() == gone_.size()) handlers_.on_ready();
      return;
    default: return;
  }
}

void MpiHub::fence(MpiMessage message) {
  const uint32_t node = message.from;
  if (message.nodes.empty()) {
    message.nodes.resize(gone_.size());
    std::iota(message.nodes.begin(), message.nodes.end(), 0U);
  }
  const auto here = std::find(message.nodes.begin(), message.nodes.end(), node);
  if (here == message.nodes.end()) return;
  const auto place = static_cast<size_t>(here - message.nodes.begin());
  auto& rounds = fences_[message.name];
  // the first one that this node is not in yet
  auto round = std::find_if(rounds.begin(), rounds.end(), [&](const Round& one) {
    return place < one.data.size() && !one.data[place];
  });
  if (round == rounds.end()) {
    round = rounds.insert(rounds.end(), Round{message.nodes, {}, 0});
    round->data.resize(message.nodes.size());
  }
  round->data[place] = std::move(message.data);
  if (message.status != 0) round->status = message.status;
  finish_rounds(message.name);
}

bool MpiHub::complete(const Round& round) const {
  for (size_t i = 0; i < round.nodes.size(); ++i) {
    if (!round.data[i] && !gone_[round.nodes[i]]) return false;
  }
  return true;
}

void MpiHub::finish_rounds(const std::string& name) {
  auto& rounds = fences_[name];
  while (!rounds.empty() && complete(rounds.front())) {
    const Round round = std::move(rounds.front());
    rounds.pop_front();
    MpiMessage all;
    all.kind = MpiMessageKind::kFence;
    all.name = name;
    all.status = round.status;
    for (const auto& data : round.data) {
      if (!data) {
        all.status = kNodeGone;
      } else {
        all.data += *data;
      }
    }
    if (all.status != 0) all.data.clear();
    for (const uint32_t node : round.nodes) {
      if (!gone_[node]) handlers_.send(node, all);
    }
  }
  if (rounds.empty()) fences_.erase(name);
}

void MpiHub::pass_on(MpiMessage message) {
  if (message.nodes.size() != 1) return;
  const uint32_t to = message.nodes.front();
  if (!gone_[to]) return handlers_.send(to, message);
  if (message.kind != MpiMessageKind::kRequest || gone_[message.from]) return;
  const uint32_t asked_by = std::exchange(message.from, to);
  message.kind = MpiMessageKind::kReply;
  message.nodes = {asked_by};
  message.status = kNodeGone;
  message.data.clear();
  handlers_.send(asked_by, message);
}

void MpiHub::answer(const MpiMessage& question, int32_t status, std::string data) {
  if (gone_[question.from]) return;
  MpiMessage reply;
  reply.kind = MpiMessageKind::kReply;
  reply.name = question.name;
  reply.nodes = {question.from};
  reply.status = status;
  reply.data = std::move(data);
  handlers_.send(question.from, reply);
}

void MpiHub::spawned(const MpiMessage& question, const std::string& step) {
  answer(question, step.empty() ? kNotSpawned : 0, step);
}

void MpiHub::publish(const MpiMessage& message) {
  const auto given = wire::decode<protocol::PublishedName>(message.data);
  if (!given) return answer(message, kNoRoom);
  const size_t bytes = given->name.size() + given->value.size();
  if (name_bytes_ + bytes > kMaxNameBytes) return answer(message, kNoRoom);
  if (!names_.emplace(given->name, given->value).second)
    return answer(message, protocol::kNameTaken);
  name_bytes_ += bytes;
  answer(message, 0);
  const auto waiting = waiting_.extract(given->name);
  if (!waiting) return;
  for (const MpiMessage& question : waiting.mapped()) answer(question, 0, given->value);
}

void MpiHub::look_up(MpiMessage message) {
  const auto found = names_.find(message.data);
  if (found != names_.end()) return answer(message, 0, found->second);
  if (message.status != protocol::kWaitForName) return answer(message, protocol::kNoSuchName);
  const std::string name = message.data;
  waiting_[name].push_back(std::move(message));
}

void MpiHub::unpublish(const MpiMessage& message) {
  const auto name = names_.extract(message.data);
  if (!name) return answer(message, protocol::kNoSuchName);
  name_bytes_ -= name.key().size() + name.mapped().size();
  answer(message, 0);
}

void MpiHub::node_gone(size_t node) {
  if (gone_[node]) return;
  gone_[node] = true;
  std::vector<std::string> names;
  for (const auto& [name, rounds] : fences_) names.push_back(name);
  for (const std::string& name : names) finish_rounds(name);
}

}  // namespace sluice::cli
