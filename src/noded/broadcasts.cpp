#include "noded/broadcasts.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/log/log.hpp"
#include "common/protocol/stepd_start.hpp"
#include "common/wire/codec.hpp"

namespace sluice::noded {

using protocol::BlockReply;
using protocol::FrameType;

namespace {
// A sender that says nothing for so long is gone; what came twice comes sooner.
constexpr auto kIdle = std::chrono::seconds(120);
}  // namespace

struct Broadcasts::Transfer {
  explicit Transfer(boost::asio::io_context& io) : timer(io) {}
  Key key;
  std::shared_ptr<FrameConnection> link;  // null: the writer is gone
  uint32_t number = 0;                    // of the last block that came
  bool ready = false;                     // the writer knows who it is
  std::string first;                      // the first block, encoded, until then
  bool ended = false;                     // that was the last one
  bool busy = false;                      // it is being written
  size_t bytes = 0;                       // of what is
  BlockReply reply;                       // to it, when not busy
  std::vector<Done> waiting;
  boost::asio::steady_timer timer;
};

Broadcasts::Broadcasts(NodeState& node, ChildProcesses& children, BroadcastBounds of_user)
    : node_(node), children_(children), of_user_(of_user) {}

Broadcasts::~Broadcasts() {
  for (const auto& [key, transfer] : transfers_) {
    if (transfer->link) transfer->link->close();  // its handlers hold the transfer
  }
}

bool Broadcasts::is_under_way(const protocol::BroadcastTicket& ticket, uint64_t transfer) const {
  return transfers_.contains({ticket.job, ticket.uid, transfer});
}

void Broadcasts::write(const protocol::BroadcastTicket& ticket,
                       const protocol::BroadcastBlock& block, Done done) {
  const Key key{ticket.job, ticket.uid, block.transfer};
  const auto place = transfers_.find(key);
  TransferPtr transfer = place != transfers_.end() ? place->second : nullptr;
  if (block.action == protocol::BlockAction::kAbort) {
    if (transfer != nullptr) end(transfer, "another node could not write it");
    return done({});
  }
  const bool fresh = transfer == nullptr || block.number > transfer->number;
  if (fresh && bytes_of(ticket.uid) + block.data.size() > of_user_.bytes) {
    return done({EAGAIN, "too much is being written for this user on this node"});
  }
  if (transfer == nullptr) {
    if (block.number != 1) return done({ESTALE, "the transfer was broken off on this node"});
    transfer = start(key, ticket);
    if (transfer->link == nullptr) {
      transfers_.erase(key);
      return done(transfer->reply);
    }
  } else if (block.number <= transfer->number) {
    if (!transfer->busy) return done(transfer->reply);
    transfer->waiting.push_back(std::move(done));
    return;
  }
  if (transfer->busy || block.number != transfer->number + 1 || transfer->ended ||
      transfer->link == nullptr) {
    return done(transfer->reply.error != 0 ? transfer->reply
                                           : BlockReply{EPROTO, "a block out of order"});
  }
  transfer->number = block.number;
  transfer->ended = block.last;
  transfer->busy = true;
  transfer->bytes = block.data.size();
  transfer->waiting.push_back(std::move(done));
  if (transfer->ready) transfer->link->send(FrameType::kFileBlock, kNoTask, wire::encode(block));
  else transfer->first = wire::encode(block);
  wait_idle(transfer);
}

size_t Broadcasts::bytes_of(uint32_t uid) const {
  size_t bytes = 0;
  for (const auto& [key, transfer] : transfers_)
    bytes += std::get<1>(key) == uid && transfer->busy ? transfer->bytes : 0;
  return bytes;
}

Broadcasts::TransferPtr Broadcasts::start(const Key& key, const protocol::BroadcastTicket& ticket) {
  auto transfer = std::make_shared<Transfer>(node_.io);
  transfer->key = key;
  const auto of_user = std::count_if(transfers_.begin(), transfers_.end(), [&](const auto& other) {
    return std::get<1>(other.first) == ticket.uid && other.second->link != nullptr;
  });
  if (static_cast<size_t>(of_user) >= of_user_.transfers) {
    transfer->reply = {EAGAIN, {}};
    return transfer;
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    transfer->reply = {errno, {}};
    return transfer;
  }
  const auto pid = children_.spawn(
      {step_daemon(node_),
       {fmt::format("slurmstepd: [{}.bcast]", ticket.job), protocol::kWriteFileMode},
       daemon_environment(node_).entries(),
       {{ends[1], protocol::kStartDescriptor}}},
      [](int) {});
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    transfer->reply = {EAGAIN, pid.error().text};
    return transfer;
  }
  using boost::asio::local::stream_protocol;
  transfer->link =
      FrameConnection::make(stream_protocol::socket(node_.io, stream_protocol(), ends[0]));
  transfer->link->start(
      {[this, transfer](const Frame& frame) {
         const auto reply = wire::decode<BlockReply>(frame.body);
         answered(transfer, reply ? *reply : BlockReply{EBADMSG, {}});
       },
       [this, transfer] { end(transfer, "the process that writes the file ended"); }, nullptr});
  protocol::FileWriterStart first;
  first.uid = ticket.uid;
  first.gid = ticket.gid;
  first.groups = ticket.groups;
  first.user_name = ticket.user_name;
  first.node_name = node_.name;
  transfers_[key] = transfer;
  const auto begin = [this, transfer, first](const Result<std::string>& file) mutable {
    if (transfer->link == nullptr) return;
    if (!file) return end(transfer, file.error().text);
    first.mount_namespace = *file;
    transfer->link->send(FrameType::kFileStart, kNoTask, wire::encode(first));
    transfer->ready = true;
    if (!transfer->first.empty())
      transfer->link->send(FrameType::kFileBlock, kNoTask, std::exchange(transfer->first, {}));
  };
  if (ticket.job == kNoJob) {
    auto at_once = begin;
    at_once(std::string());  // sbcast -Z: the node's own folders
  } else {
    containers_->prepare(ticket.job, ticket.uid, begin);
  }
  return transfer;
}

// Nothing more is to be written after the last block, or after one that failed.
// (by value: closing a connection frees what its handlers hold)
void Broadcasts::answered(TransferPtr transfer,  // NOLINT(performance-unnecessary-value-param)
                          const BlockReply& reply) {
  transfer->busy = false;
  transfer->reply = reply;
  if (transfer->ended || reply.error != 0) {
    transfer->link->close();
    transfer->link.reset();
  }
  for (const Done& done : std::exchange(transfer->waiting, {})) done(reply);
}

void Broadcasts::wait_idle(const TransferPtr& transfer) {
  transfer->timer.expires_after(kIdle);
  transfer->timer.async_wait([this, transfer](const boost::system::error_code& error) {
    if (error) return;
    end(transfer, "nothing more came");
    transfers_.erase(transfer->key);
  });
}

// The writer sees the end of its connection and removes what it has not finished.
void Broadcasts::end(TransferPtr transfer,  // NOLINT(performance-unnecessary-value-param)
                     const std::string& why) {
  if (transfer->link == nullptr) return;
  if (!transfer->ended || transfer->busy)
    log::debug("a file for JobId={} was not written: {}", std::get<0>(transfer->key), why);
  transfer->link->close();
  transfer->link.reset();
  transfer->busy = false;
  transfer->reply = {ECANCELED, why};
  for (const Done& done : std::exchange(transfer->waiting, {})) done(transfer->reply);
}

void Broadcasts::end_job(JobId job) {
  for (auto at = transfers_.lower_bound({job, 0, 0});
       at != transfers_.end() && std::get<0>(at->first) == job;) {
    const TransferPtr transfer = at->second;
    at = transfers_.erase(at);
    transfer->timer.cancel();
    end(transfer, "the job is over");
  }
}

}  // namespace sluice::noded
