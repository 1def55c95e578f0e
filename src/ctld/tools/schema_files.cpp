// Which structs make up each file of proto/. What two of them or more would repeat stands in
// common.proto.
#include "ctld/tools/schema_files.hpp"

#include <set>
#include <typeindex>

#include <fmt/format.h>

#include "common/protocol/admin.hpp"
#include "common/protocol/broadcast.hpp"
#include "common/protocol/config_files.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/noded.hpp"
#include "common/protocol/mpi_spawn.hpp"
#include "common/protocol/reservation.hpp"
#include "common/protocol/stepd.hpp"
#include "common/protocol/stepd_start.hpp"
#include "common/protocol/usage.hpp"
#include "common/protocol/user_token.hpp"
#include "common/wire/schema.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice {

namespace {

using wire::SchemaPrinter;

// Reads the bytes as each message in turn.
struct Decoders {
  std::map<std::string, MessageDecoder>& made;
  template <class T>
  void message(std::string_view name = {}) {
    made.emplace(name.empty() ? wire::detail::type_name<T>() : std::string(name),
                 [](std::string_view bytes) {
                   const auto value = wire::decode<T>(bytes);
                   return value ? std::optional<std::string>(wire::encode(*value)) : std::nullopt;
                 });
  }
};

struct SchemaFile {
  std::string_view name;  // NAME.proto, package sluice.NAME
  std::string_view purpose;
  void (*add)(SchemaPrinter& printer);
  void (*add_decoders)(Decoders& decoders);
};

template <class... T, class To>
void add_all(To& to) {
  (static_cast<void>(to.template message<T>()), ...);
}

template <class To>
void add_journal(To& to) {
  // named first: other messages refer to it
  to.template message<state::Event>("Event");
  add_all<journal::JournalFrame, state::StateImage>(to);
}

template <class To>
void add_ctld(To& to) {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  add_all<
      Empty, SubmitJobRequest, SubmitJobReply, WatchJobRequest, NodeAddress, JobWatchUpdate,
      CreateStepRequest, CreateStepReply, CreateHetStepRequest, CreateHetStepReply,
      LaunchOutsideRequest, DescribeStepRequest, DescribeStepReply, AttachStepRequest,
      EndAllocationRequest, QueryJobsRequest, JobRecord, JobChunk, QueryNodesRequest, NodeRecord,
      PartitionRecord, QueryNodesReply, QueryLicensesRequest, LicenseRecord, QueryLicensesReply,
      QueryConfigRequest, QueryConfigReply, PingRequest, PingReply, FetchConfigRequest,
      FetchConfigReply, BatchScriptRequest, BatchScriptReply, ExplainRequest, ExplainReply,
      SignalRequest, CancelJobsRequest, CancelOutcome, CancelJobsReply, JobActionRequest,
      UpdateJobRequest, UpdateNodeRequest, UpdatePartitionRequest, CreateNodesRequest,
      DeleteNodesRequest, NotifyRequest, ReconfigureRequest, ShutdownRequest, SetDebugRequest,
      CountReply, RebootNodesRequest, UpdateStepRequest, SetRuntimeRequest, SetTriggerRequest,
      TriggerFilter, ClearTriggersRequest, QueryTriggersRequest, QueryTriggersReply, CronEntry,
      ReplaceCrontabRequest, ReplaceCrontabReply, QueryCrontabRequest, QueryCrontabReply,
      ReservationValues, ChangeReservationRequest, ChangeReservationReply, CreateUserTokenRequest,
      CreateUserTokenReply, QueryReservationsRequest, ReservationRecord, QueryReservationsReply,
      QueryStatisticsRequest, CallCount, CycleCounts, QueryStatisticsReply>(to);
}

template <class To>
void add_noded(To& to) {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  add_all<StepKey, RegisterNodeRequest, RegisterNodeReply, TaskExit, StepUsage, StepEnded,
          ReportStepsRequest, JobCleaned, ReportCleanedRequest, PrologEnded, ReportPrologsRequest,
          StepLaunch, LaunchStepRequest, RunPrologRequest, NodeReply, SignalStepRequest,
          TerminateJobRequest, TerminateStepRequest, PingNodeRequest, PingNodeReply,
          CheckHealthRequest, RebootNodeRequest, ReconfigureNodeRequest, ShutdownNodeRequest,
          ListPidsRequest, PidRecord, ListPidsReply, ShowAgentRequest, ShowAgentReply,
          StatStepRequest, TaskUsage, StatStepReply, QueryUsageRequest, NodeUsage, StepUsageRecord,
          QueryUsageReply>(to);
}

template <class To>
void add_stepd(To& to) {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  add_all<StepHello, IoChallenge, TasksStarted, WindowSize, BeginTasks, SignalTasks, AttachRequest,
          PublishedName, MpiMessage, MpiSpawnRequest, MpiSpawned, StepdStart, StepRecord>(to);
}

template <class To>
void add_broadcast(To& to) {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  add_all<BroadcastTicket, BroadcastTicketRequest, BroadcastTicketReply, BroadcastBlock,
          SendBlockRequest, BlockFailure, SendBlockReply, WriteBlockRequest, BlockReply,
          FileWriterStart>(to);
}

constexpr SchemaFile kFiles[] = {
    {"ctld", "Users' commands and the controller.", add_ctld<SchemaPrinter>, add_ctld<Decoders>},
    {"noded", "The controller and node agents.", add_noded<SchemaPrinter>, add_noded<Decoders>},
    {"stepd", "Step daemons, their agents, and srun.", add_stepd<SchemaPrinter>,
     add_stepd<Decoders>},
    {"broadcast", "Files that sbcast sends to the nodes of a job.", add_broadcast<SchemaPrinter>,
     add_broadcast<Decoders>},
    {"journal", "The journal: frames of events, and checkpoints.", add_journal<SchemaPrinter>,
     add_journal<Decoders>},
};
constexpr std::string_view kCommon = "common";

std::set<std::type_index> types_of_several_files() {
  std::set<std::type_index> seen;
  std::set<std::type_index> several;
  for (const SchemaFile& file : kFiles) {
    SchemaPrinter printer;
    file.add(printer);
    for (const std::type_index& type : printer.types()) {
      if (!seen.insert(type).second) several.insert(type);
    }
  }
  return several;
}

std::string text_of(const SchemaPrinter& printer, std::string_view name, std::string_view purpose) {
  return printer.text(fmt::format("sluice.{}", name), purpose);
}

}  // namespace

std::map<std::string, std::string> schema_files() {
  const std::set<std::type_index> several = types_of_several_files();
  std::map<std::string, std::string> out;
  SchemaPrinter common;
  for (const SchemaFile& file : kFiles) {
    SchemaPrinter printer(SchemaPrinter::Import{&common, several, std::string(kCommon)});
    file.add(printer);
    out[fmt::format("{}.proto", file.name)] = text_of(printer, file.name, file.purpose);
  }
  out[fmt::format("{}.proto", kCommon)] =
      text_of(common, kCommon, "What several of the other files need.");
  return out;
}

std::map<std::string, MessageDecoder> message_decoders() {
  std::map<std::string, MessageDecoder> out;
  Decoders decoders{out};
  for (const SchemaFile& file : kFiles) file.add_decoders(decoders);
  return out;
}

}  // namespace sluice
