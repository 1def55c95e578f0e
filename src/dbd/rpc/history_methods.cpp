// What controllers and sacct ask.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/contains.hpp"
#include "common/base/version.hpp"
#include "common/log/log.hpp"
#include "common/os/host_name.hpp"
#include "common/protocol/accounting_jobs.hpp"
#include "common/protocol/protocol_version.hpp"
#include "dbd/entities/coordinators.hpp"
#include "dbd/history/amend.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/history/numbers.hpp"
#include "dbd/history/query.hpp"
#include "dbd/rpc/actor.hpp"
#include "dbd/rpc/cluster_registry.hpp"
#include "dbd/rpc/services.hpp"

namespace sluice::dbd {
namespace {

using net::CallContext;

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

protocol::PingAccountingReply ping() {
  return {short_host_name(), kSlurmVersion, protocol::kProtocolVersion};
}

// What who is no operator may look for at once.
Status check_size(const ServiceParts& parts, const protocol::QueryHistoryRequest& request) {
  if (is_long(request)) return failure(ErrorCode::kBadRequest, "too much is named in one query");
  const Duration most = parts.config.get()->max_query_time_range;
  if (most < kNoLimit && is_too_wide(request, most, now()))
    return failure(ErrorCode::kAccessDenied, "Too wide of a date range in query");
  return {};
}

// What the caller may see of it: with PrivateData=jobs his own, and those of accounts that he
// coordinates.
Result<std::shared_ptr<HistoryQuery>> allowed_query(const ServiceParts& parts,
                                                    const CallContext& context,
                                                    protocol::QueryHistoryRequest request) {
  HistoryQuery::MaySee may_see;
  if (!parts.is_operator(context)) {
    if (Status ok = check_size(parts, request); !ok) return tl::unexpected<Error>(ok.error());
    if (contains(parts.config.get()->private_data, "jobs")) {
      const uint32_t own = context.identity.uid;
      Coordinated accounts(*parts.entities.current(), actor_of(context).name);
      const bool asks_own = request.uids.empty() || std::ranges::count(request.uids, own) > 0;
      // of nobody, where he asks for others alone
      if (accounts.empty()) request.uids = {asks_own ? own : UINT32_MAX};
      may_see = [own, accounts = std::move(accounts)](const std::string& cluster,
                                                      const JobHistory& job) {
        return job.uid == own || accounts.on(cluster, job.account);
      };
    }
  }
  auto filter = history::Filter::make(std::move(request));
  if (!filter) return tl::unexpected(filter.error());
  return std::make_shared<HistoryQuery>(parts.database, std::move(*filter), std::move(may_see));
}

// Jobs of `owner` only, where there is one. A job whose user has no such wckey stays as it is.
MayAmend may_amend(const Entities& entities, std::optional<uint32_t> owner,
                   const std::optional<std::string>& wckey) {
  std::set<std::pair<std::string, std::string>> have_it;  // users of clusters
  for (const auto& [id, stored] : entities.wckeys) {
    if (wckey && !stored.deleted && stored.record.name == *wckey)
      have_it.emplace(stored.record.cluster, stored.record.user);
  }
  return [owner, any = !wckey, have_it = std::move(have_it)](const std::string& cluster,
                                                             const JobHistory& job) -> Status {
    if (owner && job.uid != *owner) return failure(ErrorCode::kAccessDenied);
    if (!any && !have_it.contains({cluster, job.user})) return failure(ErrorCode::kNotFound);
    return {};
  };
}

// Of jobs that are his own, a user may say some things; of others', and all, operators may.
Result<protocol::ChangeJobHistoryReply> change_jobs(ServiceParts& parts, const CallContext& context,
                                                    protocol::ChangeJobHistoryRequest request) {
  const protocol::JobSettings& settings = request.settings;
  const uint32_t own = context.identity.uid;
  std::optional<uint32_t> owner;
  if (!parts.is_operator(context)) {
    if (settings.admin_comment || settings.system_comment) return failure(ErrorCode::kAccessDenied);
    if (Status ok = check_size(parts, request.where); !ok) return tl::unexpected<Error>(ok.error());
    std::vector<uint32_t>& uids = request.where.uids;
    // others' jobs are not there for him: no error tells of them
    if (contains(parts.config.get()->private_data, "jobs"))
      uids = {uids.empty() || std::ranges::count(uids, own) > 0 ? own : UINT32_MAX};
    owner = own;
  }
  Amendment amendment;
  if (owner) amendment.most_jobs = kMostOwnJobs;
  amendment.may = may_amend(*parts.entities.current(), owner, settings.wckey);
  amendment.request = std::move(request);
  amendment.actor = actor_of(context).name;
  amendment.is_over = [deadline = context.deadline] { return now() > deadline; };
  auto done = amend_jobs(parts.database, amendment, now());
  if (!done) return tl::unexpected<Error>(done.error());
  if (done->written > 0) log::info("uid {} changed {} job(s) of accounting", own, done->written);
  return std::move(done->reply);
}

}  // namespace

bool ServiceParts::is_operator(const CallContext& context) const {
  return context.is_super_user() || dbd::is_operator(*entities.current(), actor_of(context));
}

void add_history_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<PingAccountingRequest, PingAccountingReply>(
      [](const auto&, auto, auto responder) { responder.reply(ping()); }, net::kForAnyone);
  server.handle<StoreHistoryRequest, StoreHistoryReply>(
      [&parts](const auto& context, auto request, auto responder) {
        if (!context.is_super_user()) return responder.fail(ErrorCode::kAccessDenied);
        if (auto admitted = admit_controller(parts.entities, request, now()); !admitted)
          return responder.fail(admitted.error());
        auto stored = store_history(parts.database, request, now());
        parts.storing.count(request.cluster,
                            stored ? Status() : Status(tl::unexpected<Error>(stored.error())),
                            now());
        if (!stored) log::error("cluster {}: {}", request.cluster, stored.error().text);
        else register_controller(parts.database, parts.entities, request, now());
        responder.complete(stored);
      },
      net::kLongAndSlow);
  server.handle<QueryLastJobRequest, QueryLastJobReply>(
      [&parts](const auto& context, auto request, auto responder) {
        if (!context.is_super_user()) return responder.fail(ErrorCode::kAccessDenied);
        const auto last = last_job_id(parts.database, request.cluster);
        if (!last) return responder.fail(last.error());
        responder.reply({*last});
      },
      net::kSlow);
  server.handle_stream<QueryHistoryRequest, HistoryChunk>(
      [&parts](const auto& context, auto request, auto writer) {
        auto waiting =
            std::make_shared<std::vector<WaitingHistory>>(parts.storing.waiting(request.clusters));
        auto allowed = allowed_query(parts, context, std::move(request));
        if (!allowed) return writer.finish(tl::unexpected<Error>(allowed.error()));
        const std::shared_ptr<HistoryQuery> query = std::move(*allowed);
        auto is_over = std::make_shared<std::atomic<bool>>(false);
        writer.on_cancel([is_over] { *is_over = true; });
        query->end_when(
            [is_over, deadline = context.deadline] { return *is_over || now() > deadline; });
        auto numbers = std::make_shared<HistoryNumbers>(parts.entities.current());
        writer.pull([query, numbers, waiting]() -> Result<std::optional<HistoryChunk>> {
          if (!waiting->empty()) {
            HistoryChunk first;
            first.now = now();
            first.waiting = std::exchange(*waiting, {});
            return std::optional(std::move(first));
          }
          auto chunk = query->next(now());
          if (chunk && *chunk)
            for (HistoryJob& record : (*chunk)->jobs) numbers->add(record);
          return chunk;
        });
      },
      net::kSlow);
  server.handle<ChangeJobHistoryRequest, ChangeJobHistoryReply>(
      [&parts](const auto& context, auto request, auto responder) {
        responder.complete(change_jobs(parts, context, std::move(request)));
      },
      net::kSlow);
  server.handle<QueryJobTextRequest, QueryJobTextReply>(
      [&parts](const auto& context, auto request, auto responder) {
        auto text = job_text(parts.database, request, [&](const JobHistory& job) {
          return job.uid == context.identity.uid || parts.is_operator(context);
        });
        if (!text) return responder.fail(text.error());
        responder.reply({std::move(*text)});
      },
      net::kSlow);
}

}  // namespace sluice::dbd
