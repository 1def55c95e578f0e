#include "ctld/accounting/sender.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/base/thread_name.hpp"
#include "common/log/log.hpp"
#include "common/names/errors.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/protocol_version.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kBatchRecords = 4000;
constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr Duration kSendTimeout = std::chrono::seconds(60);
constexpr Duration kFirstPause = std::chrono::milliseconds(250);
constexpr Duration kLongestPause = std::chrono::seconds(5);
constexpr Duration kEndPatience = std::chrono::seconds(2);
constexpr uint64_t kFirstWarning = 16;  // part of what may wait
constexpr uint64_t kLeastMessages = 10'000;

}  // namespace

HistorySender::HistorySender(journal::JournalStore& store, DbdClient& client, Options options)
    : store_(store), client_(client), options_(std::move(options)), thread_([this] {
        run();
        {
          const std::lock_guard lock(mutex_);
          ended_ = true;
        }
        changed_.notify_all();
      }) {}

HistorySender::~HistorySender() { stop(); }

void HistorySender::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void HistorySender::stop() {
  if (!thread_.joinable()) return;
  bool in_time = false;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    in_time = changed_.wait_for(lock, kEndPatience, [&] { return ended_; });
  }
  // a daemon that hangs would hold the controller's end up
  if (!in_time) client_.give_up();
  thread_.join();
}

void HistorySender::rest(Duration pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, pause, [&] { return stopping_; });
}

void HistorySender::run() {
  name_thread("dbd_sender");
  Duration pause = kFirstPause;
  for (;;) {
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return woken_ || stopping_; });
      woken_ = false;
      last = stopping_;
    }
    if (last && !trouble_.empty()) return;
    const Status sent = send_all();
    tell(sent);
    if (options_.watch != nullptr)
      options_.watch->records_wait(store_.outgoing_count(), options_.most);
    if (last) return;
    if (sent) {
      pause = kFirstPause;
      continue;
    }
    rest(pause);
    pause = std::min(2 * pause, kLongestPause);
    wake();
  }
}

Status HistorySender::send_all() {
  while (store_.outgoing_count() > 0) {
    auto batch = store_.outgoing(kBatchRecords, kBatchBytes);
    if (!batch) return tl::unexpected(batch.error());
    if (batch->records.empty()) return {};
    if (!store_.outgoing_checked())
      if (auto checked = check(batch->first); !checked) return checked;
    if (auto sent = send(std::move(*batch)); !sent) return sent;
  }
  return {};
}

// A request without records changes nothing there, and says what it has.
Status HistorySender::check(uint64_t first) {
  const auto known = store({.first = first, .records = {}});
  if (!known) return tl::unexpected(known.error());
  const auto older = store_.check_outgoing(known->last);
  if (!older) return tl::unexpected(older.error());
  if (*older)
    log::error(
        "the accounting daemon has records of this cluster up to number {}, which this state did not send: it is an "
        "older one that was put back, or its journal was damaged. What it sends from now on is a new stream of records",
        known->last);
  return {};
}

Status HistorySender::send(journal::OutboxBatch batch) {
  const uint64_t first = batch.first;
  const auto reply = store(std::move(batch));
  if (!reply) return tl::unexpected(reply.error());
  if (reply->last < first) return failure("it keeps none of what it is sent");
  // counted first: who reads how many wait, and then this, may find too many, never too few
  const uint64_t count = reply->last - first + 1;
  sent_ += count;
  Status removed = store_.remove_outgoing(reply->last);
  if (!removed) sent_ -= count;
  return removed;
}

Result<protocol::StoreHistoryReply> HistorySender::store(journal::OutboxBatch batch) {
  protocol::StoreHistoryRequest request;
  request.cluster = options_.own.name;
  request.cluster_id = options_.own.id;
  request.known_version = options_.own.known_version;
  request.stream = store_.outgoing_stream();
  request.first = batch.first;
  request.records = std::move(batch.records);
  request.control_host = options_.own.control_host;
  request.control_port = options_.own.control_port;
  request.protocol_version = protocol::kProtocolVersion;
  auto reply = client_.ask<protocol::StoreHistoryReply>(request, kSendTimeout);
  if (options_.watch != nullptr)
    options_.watch->records_sent(reply ? Status() : tl::unexpected<Error>(reply.error()));
  return reply;
}

void HistorySender::tell(const Status& sent) {
  const uint64_t waiting = store_.outgoing_count();
  if (sent) {
    refused_since_ = kNoTime;
    if (!std::exchange(trouble_, {}).empty()) log::info("the accounting daemon answers again");
    told_ = 0;
    return;
  }
  if (refused_since_.load() == kNoTime) refused_since_ = net::now();
  std::string trouble = error_text(sent.error());
  if (trouble_ != trouble) {
    trouble_ = std::move(trouble);
    log::error("the accounting daemon gets no records, which wait: {}", trouble_);
  }
  if (waiting < options_.most / kFirstWarning || waiting < 2 * told_) return;
  told_ = waiting;
  if (waiting < options_.most) {
    log::warning("{} records wait for the accounting daemon", waiting);
  } else {
    log::error(
        "{} records wait for the accounting daemon, more than MaxDBDMsgs ({}); none is lost "
        "while the journal's disk has room",
        waiting, options_.most);
  }
}

uint64_t most_dbd_messages(const ClusterConfig& config) {
  const auto set = config.values.find("MaxDBDMsgs");
  if (set != config.values.end()) {
    if (const auto number = to_number<uint64_t>(set->second)) return *number;
  }
  return std::max(kLeastMessages, uint64_t{2} * config.max_job_count + 4 * config.nodes.size());
}

}  // namespace sluice::ctld
