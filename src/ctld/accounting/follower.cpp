#include "ctld/accounting/follower.hpp"

#include <pwd.h>

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/thread_name.hpp"
#include "common/log/log.hpp"
#include "common/names/errors.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/protocol/protocol_version.hpp"
#include "ctld/accounting/follow_pace.hpp"

namespace sluice::ctld {
namespace {

using protocol::QueryAccountingRecordsReply;
using protocol::QueryAccountingRecordsRequest;

// The daemon waits up to 30 s while nothing is new.
constexpr Duration kPatience = std::chrono::seconds(40);
constexpr Duration kPauseWhileAway = std::chrono::seconds(2);

// An answer, which may come after nobody waits for it any more.
struct Answer {
  std::mutex mutex;
  std::optional<Result<QueryAccountingRecordsReply>> reply;
};

}  // namespace

std::optional<uint32_t> system_uid_of(const std::string& user) {
  constexpr size_t kRoom = size_t{64} << 10;
  std::string room(kRoom, '\0');
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(user.c_str(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return entry.pw_uid;
}

AccountingFollower::AccountingFollower(engine::Engine& engine, DbdClient& client, Options options)
    : engine_(engine),
      client_(client),
      options_(std::move(options)),
      known_(options_.own.known_version),
      uids_(options_.uid_of),
      thread_([this] { run(); }) {}

AccountingFollower::~AccountingFollower() { stop(); }

void AccountingFollower::stop() {
  {
    const std::lock_guard lock(wake_->mutex);
    wake_->stopping = true;
  }
  wake_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

void AccountingFollower::run() {
  name_thread("dbd_follower");
  do {
    while (ask()) {}
  } while (rest(kPauseWhileAway));
}

bool AccountingFollower::rest(Duration pause) {
  std::unique_lock lock(wake_->mutex);
  wake_->changed.wait_for(lock, pause, [this] { return wake_->stopping; });
  return !wake_->stopping;
}

bool AccountingFollower::ask() {
  QueryAccountingRecordsRequest request;
  request.cluster = options_.own.name;
  request.known_version = known_;
  request.cluster_id = options_.own.id;
  request.control_host = options_.own.control_host;
  request.control_port = options_.own.control_port;
  request.protocol_version = protocol::kProtocolVersion;
  const auto shared = std::make_shared<Answer>();
  client_.call<QueryAccountingRecordsReply>(
      request, kPatience, [shared, wake = wake_](Result<QueryAccountingRecordsReply> reply) {
        {
          const std::lock_guard lock(shared->mutex);
          shared->reply = std::move(reply);
        }
        const std::lock_guard lock(wake->mutex);
        wake->changed.notify_all();
      });
  {
    std::unique_lock lock(wake_->mutex);
    wake_->changed.wait(lock, [&] {
      const std::lock_guard inner(shared->mutex);
      return wake_->stopping || shared->reply.has_value();
    });
    if (wake_->stopping) return false;
  }
  const std::lock_guard lock(shared->mutex);
  Result<QueryAccountingRecordsReply>& reply = *shared->reply;
  if (options_.watch != nullptr)
    options_.watch->asked(reply ? Status() : tl::unexpected<Error>(reply.error()));
  if (!reply) {
    std::string trouble = error_text(reply.error());
    if (trouble_ == trouble) return false;
    trouble_ = std::move(trouble);
    if (reply.error().code == ErrorCode::kWrongCluster)
      log::error("accounting: what is known of associations and QOS stays: {}", trouble_);
    else
      log::warning("accounting: no associations and QOS from the accounting daemon: {}", trouble_);
    return false;
  }
  if (!std::exchange(trouble_, {}).empty())
    log::info("accounting: the accounting daemon answers again");
  if (reply->unchanged) {
    // all of it again, where the system has learned of a user
    if (uids_.has_news(net::steady_now())) known_ = 0;
    return true;
  }
  const Duration pause = rest_after(reply->records);
  take(std::move(reply->records));
  return rest(pause);
}

void AccountingFollower::take(AccountingRecords records) {
  known_ = records.version;
  log::verbose("accounting: version {}: {} associations, {} QOS", records.version,
               records.associations.size(), records.qos.size());
  state::FollowAccounting command;
  std::set<std::string_view> names;
  const SteadyTime now = net::steady_now();
  for (const UserRecord& user : records.users) {
    names.insert(user.name);
    if (const auto uid = uids_.of(user.name, now)) command.uids.emplace(user.name, *uid);
  }
  uids_.forget_unknown_but([&](const std::string& user) { return names.contains(user); });
  command.records = std::move(records);
  engine_.post({std::move(command), {}, {}});
}

}  // namespace sluice::ctld
