#include "dbd/rpc/admin_methods.hpp"

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "dbd/entities/query.hpp"
#include "dbd/history/amend.hpp"
#include "dbd/rpc/actor.hpp"
#include "dbd/rpc/cluster_registry.hpp"

namespace sluice::dbd {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): of this file only

Privacy privacy_of(const DbdConfig& config) {
  Privacy out;
  for (const std::string& what : config.private_data) {
    out.users |= iequals(what, "users");
    out.accounts |= iequals(what, "accounts");
  }
  return out;
}

void change(AdminParts& parts, const net::CallContext& context,
            const ChangeAccountingRequest& request,
            net::Responder<ChangeAccountingReply> responder) {
  const Actor actor = actor_of(context);
  {
    // what is refused anyhow waits for no other change, and holds none up
    const std::shared_ptr<const Entities> entities = parts.store.current();
    if (!may_ask(*entities, request, actor)) return responder.reply(denial(request));
    if (!is_operator(*entities, actor) && is_long(request))
      return responder.fail(ErrorCode::kBadRequest, "too many names in one request");
  }
  Result<ChangeAccountingReply> reply = parts.store.change(request, actor, net::now());
  if (reply && reply->committed)
    log::info("{} ({}) changed {} record(s) of accounting", actor.name, context.identity.uid,
              reply->changed.size());
  responder.complete(reply);
}

void load(AdminParts& parts, const net::CallContext& context, const LoadAccountingRequest& request,
          net::Responder<LoadAccountingReply> responder) {
  const Actor actor = actor_of(context);
  if (!is_operator(*parts.store.current(), actor)) return responder.fail(ErrorCode::kAccessDenied);
  Result<LoadAccountingReply> reply = parts.store.load(request, actor, net::now());
  if (reply && reply->committed)
    log::info("{} ({}) loaded {} change(s) into accounting", actor.name, context.identity.uid,
              request.changes.size());
  responder.complete(reply);
}

void query(AdminParts& parts, const net::CallContext& context,
           const QueryAccountingRequest& request, net::Responder<QueryAccountingReply> responder) {
  const Actor actor = actor_of(context);
  const std::shared_ptr<const Entities> entities = parts.store.current();
  if (!is_operator(*entities, actor) && is_long(request.where))
    return responder.fail(ErrorCode::kBadRequest, "too many names in one request");
  const Privacy privacy = privacy_of(*parts.config.get());
  if (!may_list(*entities, request.entity, actor, privacy))
    return responder.fail(ErrorCode::kAccessDenied);
  QueryAccountingReply reply = answer_query(*entities, request, actor, privacy);
  if (request.entity == AccountingEntity::kTransaction) {
    auto found = parts.store.transactions(request.where, request.transactions_after);
    if (!found) return responder.fail(std::move(found.error()));
    reply.transactions = std::move(found->records);
    reply.more_transactions_after = found->more_after;
    // what was said of a job is seen where the job is
    if (contains(parts.config.get()->private_data, "jobs") && !is_operator(*entities, actor)) {
      std::erase_if(reply.transactions, [&](const TransactionRecord& t) {
        return t.action == kModifyJob && t.actor != actor.name;
      });
    }
  }
  if (request.entity == AccountingEntity::kProblem)
    reply.problems = problems_of(*entities, request.where, is_user_of_host);
  responder.reply(reply);
}

// What its controller said of itself in the meantime stays.
Status register_in(EntityStore& store, const ClusterRecord& cluster) {
  return store.update([&](Entities& entities, std::vector<TransactionRecord>& transactions) {
    return !has_cluster(entities, cluster.name) &&
           register_cluster(entities, cluster, "root", net::now(), transactions);
  });
}

// Records name users and their limits: they are a controller's, and its site's operators'.
void follow(AdminParts& parts, const net::CallContext& context,
            const QueryAccountingRecordsRequest& request, Followers::Answer answer) {
  if (!context.is_super_user()) return answer.fail(ErrorCode::kAccessDenied);
  if (Status admitted = admit_controller(parts.store, request, net::now()); !admitted)
    return answer.fail(std::move(admitted.error()));
  // a cluster is there as soon as its controller asks for it
  if (!has_cluster(*parts.store.current(), to_lower(request.cluster)) && is_name(request.cluster)) {
    ClusterRecord cluster;
    cluster.name = to_lower(request.cluster);
    Status done = register_in(parts.store, cluster);
    if (!done) return answer.fail(std::move(done.error()));
  }
  parts.followers.ask(request, parts.store.current(), std::move(answer));
}

}  // namespace

void add_admin_methods(net::RpcServer& server, AdminParts& parts) {
  server.handle<ChangeAccountingRequest, ChangeAccountingReply>(
      [&parts](const net::CallContext& context, const ChangeAccountingRequest& request,
               auto responder) { change(parts, context, request, std::move(responder)); },
      net::kSlow);
  server.handle<LoadAccountingRequest, LoadAccountingReply>(
      [&parts](const net::CallContext& context, const LoadAccountingRequest& request,
               auto responder) { load(parts, context, request, std::move(responder)); },
      net::kLongAndSlow);
  server.handle<QueryAccountingRequest, QueryAccountingReply>(
      [&parts](const net::CallContext& context, const QueryAccountingRequest& request,
               auto responder) { query(parts, context, request, std::move(responder)); },
      net::kSlow);
  server.handle<QueryAccountingRecordsRequest, QueryAccountingRecordsReply>(
      [&parts](const net::CallContext& context, const QueryAccountingRecordsRequest& request,
               auto responder) { follow(parts, context, request, std::move(responder)); },
      net::kSlow);
}

}  // namespace sluice::dbd
