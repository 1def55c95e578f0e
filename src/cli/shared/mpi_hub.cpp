#include "cli/shared/mpi_hub.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::cli {

using protocol::MpiMessage;
using protocol::MpiMessageKind;

namespace {
constexpr int32_t kNodeGone = -1;
}  // namespace

void MpiHub::received(size_t node, MpiMessage message) {
  message.from = static_cast<uint32_t>(node);
  std::erase_if(message.nodes, [this](uint32_t other) { return other >= gone_.size(); });
  switch (message.kind) {
    case MpiMessageKind::kFence:
      return fence(std::move(message));
    case MpiMessageKind::kRequest:
    case MpiMessageKind::kReply:
      return pass_on(std::move(message));
    case MpiMessageKind::kTaskLost:
      for (size_t other = 0; other < gone_.size(); ++other) {
        if (other != node && !gone_[other]) handlers_.send(other, message);
      }
      return;
    case MpiMessageKind::kAbort:
      return handlers_.on_abort(message);
    default:
      return;
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

void MpiHub::node_gone(size_t node) {
  if (gone_[node]) return;
  gone_[node] = true;
  std::vector<std::string> names;
  for (const auto& [name, rounds] : fences_)
    names.push_back(name);
  for (const std::string& name : names)
    finish_rounds(name);
}

}  // namespace sluice::cli
