// What sreport asks. Usage is summed up each hour, and before a report, so that none lags behind.
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "dbd/history/runaway.hpp"
#include "dbd/rpc/actor.hpp"
#include "dbd/rpc/admin_methods.hpp"
#include "dbd/store/usage_store.hpp"

namespace sluice::dbd {
namespace {

bool is_private(const DbdConfig& config, std::string_view data) {
  for (const std::string& what : config.private_data)
    if (what == data) return true;
  return false;
}

// Who is no operator.
bool may_ask(const DbdConfig& config, protocol::UsageReport report, const Actor& actor) {
  const bool usage_is_private = is_private(config, "usage");
  if (usage_is_private && actor.name.empty()) return false;
  switch (report) {
    case protocol::UsageReport::kRunawayJobs: return false;
    case protocol::UsageReport::kEvents: return !is_private(config, "events");
    case protocol::UsageReport::kCluster: return !usage_is_private;
    case protocol::UsageReport::kReservations:
      return !usage_is_private && !is_private(config, "reservations");
    default: return true;
  }
}

void report(AdminParts& parts, const net::CallContext& context,
            protocol::QueryReportRequest request,
            net::Responder<protocol::QueryReportReply> responder) {
  const Actor actor = actor_of(context);
  const bool is_all_his = is_operator(*parts.store.current(), actor);
  if (!is_all_his) {
    if (is_long(request))
      return responder.fail(ErrorCode::kBadRequest, "too much is named in one report");
    if (!may_ask(*parts.config.get(), request.report, actor))
      return responder.fail(ErrorCode::kAccessDenied);
  }
  const bool own_alone = !is_all_his && is_private(*parts.config.get(), "usage");
  if (own_alone) request.users = {actor.name};
  const Time now = net::now();
  if (Status rolled = roll_up(parts.database, now); !rolled)
    return responder.fail(std::move(rolled.error()));
  auto reply = query_usage(parts.database, request, now, [&] { return responder.is_gone(); });
  // what jobs used is told by wckey where wckeys are tracked; their sizes are in any case
  if (reply && !parts.config.get()->track_wckey)
    for (protocol::JobUsageRow& row : reply->jobs) row.wckey.clear();
  // sums of everybody's
  if (reply && own_alone) reply->cluster.clear();
  responder.complete(reply);
}

}  // namespace

void add_usage_methods(net::RpcServer& server, AdminParts& parts) {
  server.handle<protocol::QueryReportRequest, protocol::QueryReportReply>(
      [&parts](const net::CallContext& context, protocol::QueryReportRequest request,
               auto responder) {
        report(parts, context, std::move(request), std::move(responder));
      },
      net::kSlow);
  server.handle<protocol::EndRunawayJobsRequest, protocol::EndRunawayJobsReply>(
      [&parts](const net::CallContext& context, const protocol::EndRunawayJobsRequest& request,
               auto responder) {
        const Actor actor = actor_of(context);
        if (!is_operator(*parts.store.current(), actor))
          return responder.fail(ErrorCode::kAccessDenied);
        Result<uint32_t> ended = end_runaway_jobs(parts.database, request);
        if (!ended) return responder.fail(std::move(ended.error()));
        log::info("{} ended {} runaway job(s)", actor.name, *ended);
        responder.reply({*ended});
      },
      net::kSlow);
}

UsageClock::UsageClock(Database& database, Statistics& statistics, Archiver& archiver) {
  thread_.start([this, &database, &statistics, &archiver] {
    do {
      const Time begin = net::now();
      const Status done = roll_up(database, begin);
      statistics.count_rollup(begin, net::now() - begin);
      if (!done) log::error("usage cannot be summed up: {}", done.error().text);
      else purge_hourly(archiver, begin);
    } while (thread_.rest(std::chrono::minutes(5)));
  });
}

void UsageClock::purge_hourly(Archiver& archiver, Time now) {
  if (now - purged_ < std::chrono::hours(1)) return;
  const auto done = archiver.by_clock(now);
  if (!done) return log::error("history cannot be purged: {}", done.error().text);
  purged_ = now;
  if (done->rows > 0) log::info("purged {} row(s) of history", done->rows);
}

}  // namespace sluice::dbd
