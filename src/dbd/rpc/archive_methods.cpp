// What administrators ask about archives: sacctmgr archive dump and load.
#include <fmt/format.h>

#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting_archive.hpp"
#include "dbd/rpc/actor.hpp"
#include "dbd/rpc/admin_methods.hpp"

namespace sluice::dbd {
namespace {

using net::CallContext;

constexpr const char* kNoPrivilege = "Your user doesn't have privilege to perform this action";

Status may_archive(const AdminParts& parts, const Actor& actor) {
  if (!is_administrator(*parts.store.current(), actor))
    return failure(ErrorCode::kAccessDenied, kNoPrivilege);
  if (parts.config.get()->no_archive_commands)
    return failure(ErrorCode::kAccessDenied,
                   "Archive commands are disabled: DisableArchiveCommands of slurmdbd.conf");
  return {};
}

void dump(AdminParts& parts, const CallContext& context,
          const protocol::DumpArchiveRequest& request,
          net::Responder<protocol::DumpArchiveReply> responder) {
  const Actor actor = actor_of(context);
  if (Status may = may_archive(parts, actor); !may) return responder.fail(std::move(may.error()));
  // it runs as SlurmUser
  if (!request.script.empty() && !actor.super)
    return responder.fail(ErrorCode::kAccessDenied, "Script is for root and SlurmUser alone");
  auto done = parts.archiver.as_asked(request, net::now());
  if (!done) {
    log::error("{} ({}) asked for an archive: {}", actor.name, context.identity.uid,
               done.error().text);
    return responder.fail(std::move(done.error()));
  }
  log::info("{} ({}) had history purged: {} row(s)", actor.name, context.identity.uid, done->rows);
  responder.reply({done->rows, std::move(done->files)});
}

void load(AdminParts& parts, const CallContext& context,
          const protocol::LoadArchiveRequest& request,
          net::Responder<protocol::LoadArchiveReply> responder) {
  const Actor actor = actor_of(context);
  if (Status may = may_archive(parts, actor); !may) return responder.fail(std::move(may.error()));
  if (!request.file.starts_with('/'))
    return responder.fail(ErrorCode::kBadRequest,
                          fmt::format("{}: no path that begins with /", request.file));
  const auto rows = load_archive(parts.database, request.file, net::now(), request.commit);
  if (!rows) return responder.fail(rows.error());
  if (request.commit)
    log::info("{} ({}) loaded {}: {} row(s)", actor.name, context.identity.uid, request.file,
              *rows);
  responder.reply({*rows, request.commit});
}

}  // namespace

void add_archive_methods(net::RpcServer& server, AdminParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<DumpArchiveRequest, DumpArchiveReply>(
      [&parts](const CallContext& context, const DumpArchiveRequest& request, auto responder) {
        dump(parts, context, request, std::move(responder));
      },
      net::kSlow);
  server.handle<LoadArchiveRequest, LoadArchiveReply>(
      [&parts](const CallContext& context, const LoadArchiveRequest& request, auto responder) {
        load(parts, context, request, std::move(responder));
      },
      net::kSlow);
}

}  // namespace sluice::dbd
