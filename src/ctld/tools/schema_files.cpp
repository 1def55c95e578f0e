// Which structs make up each file of proto/. What two of them or more would repeat stands in
// common.proto, and the methods that requests name in services.proto.
#include "ctld/tools/schema_files.hpp"

#include <set>
#include <typeindex>

#include <fmt/format.h>

#include "common/protocol/accounting.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/protocol/accounting_archive.hpp"
#include "common/protocol/accounting_daemon.hpp"
#include "common/protocol/accounting_jobs.hpp"
#include "common/protocol/accounting_usage.hpp"
#include "common/protocol/admin.hpp"
#include "common/protocol/assoc_mgr.hpp"
#include "common/protocol/broadcast.hpp"
#include "common/protocol/config_files.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/fanout.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"
#include "common/protocol/noded.hpp"
#include "common/protocol/mpi_spawn.hpp"
#include "common/protocol/priority.hpp"
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

// The methods of those messages that are requests, by service.
struct Services {
  std::map<std::string, std::string> made;
  template <class T>
  void message(std::string_view /*name*/ = {}) {
    using wire::detail::type_name;
    if constexpr (requires { T::kMethod; }) {
      const size_t slash = T::kMethod.find('/');
      std::string answer;
      if constexpr (requires { typename T::Chunk; })
        answer = "stream " + type_name<typename T::Chunk>();
      else answer = type_name<typename T::Reply>();
      made[std::string(T::kMethod.substr(0, slash))] += fmt::format(
          "  rpc {}({}) returns ({});\n", T::kMethod.substr(slash + 1), type_name<T>(), answer);
    }
  }
};

struct SchemaFile {
  std::string_view name;  // NAME.proto
  std::string_view package;
  std::string_view purpose;
  void (*add)(SchemaPrinter& printer);
  void (*add_decoders)(Decoders& decoders);
  void (*add_services)(Services& services);
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
      QueryStatisticsRequest, CallCount, CycleCounts, QueryStatisticsReply, TresWeight,
      PriorityWeights, PartitionPriority, PriorityFactors, QueryPrioritiesRequest, PriorityRecord,
      PriorityChunk, QueryAssocMgrRequest, ResetUsageRequest, TresInUse, InUse, AssociationInUse,
      MemberInUse, QosInUse, UserInUse, AssocMgrReply>(to);
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
          QueryUsageReply, FanoutTarget, FanoutResult, FanoutRequest, FanoutReply>(to);
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

template <class To>
void add_dbd(To& to) {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  add_all<PingAccountingRequest, PingAccountingReply, NamedTres, JobHistory, UsageExtent,
          UsageHistory, StepHistory, NodeHistory, ClusterHistory, ReservationHistory, BlobHistory,
          HistoryRecord, StoreHistoryRequest, StoreHistoryReply, QueryLastJobRequest,
          QueryLastJobReply, HistoryJobName, HistoryRange, QueryHistoryRequest, HistoryJob,
          HistoryChunk, QueryJobTextRequest, QueryJobTextReply, TresRecord, TresAmount, GroupLimits,
          MemberLimits, JobLimits, AssociationRecord, QosRecord, AccountRecord, UserRecord,
          WckeyRecord, AccountingRecords, QueryAccountingRecordsRequest,
          QueryAccountingRecordsReply, AccountingConditions, LimitSetting, NameSet, FlagSet,
          AccountingSettings, ChangeAccountingRequest, ChangeAccountingReply, LoadAccountingRequest,
          LoadAccountingReply, ClusterRecord, TransactionRecord, ProblemRecord,
          QueryAccountingRequest, QosDelta, AccountName, QueryAccountingReply, QueryReportRequest,
          ClusterUsageRow, JobUsageRow, JobSizeRow, ReservationUsageRow, EventRow, RunawayRow,
          RunawayEnd, QueryReportReply, EndRunawayJobsRequest, EndRunawayJobsReply, DaemonCalls,
          DaemonValue, QueryAccountingDaemonRequest, QueryAccountingDaemonReply, ArchiveRule,
          DumpArchiveRequest, DumpArchiveReply, LoadArchiveRequest, LoadArchiveReply,
          WaitingHistory, JobSettings, ChangeJobHistoryRequest, ChangedJob, ChangeJobHistoryReply>(
      to);
}

constexpr std::string_view kPackage = "sluice.v1";
constexpr SchemaFile kFiles[] = {
    {"ctld", kPackage, "Users' commands and the controller.", add_ctld<SchemaPrinter>,
     add_ctld<Decoders>, add_ctld<Services>},
    {"noded", kPackage, "The controller and node agents.", add_noded<SchemaPrinter>,
     add_noded<Decoders>, add_noded<Services>},
    {"stepd", kPackage, "Step daemons, their agents, and srun.", add_stepd<SchemaPrinter>,
     add_stepd<Decoders>, add_stepd<Services>},
    {"broadcast", kPackage, "Files that sbcast sends to the nodes of a job.",
     add_broadcast<SchemaPrinter>, add_broadcast<Decoders>, add_broadcast<Services>},
    {"dbd", kPackage, "The accounting daemon: what controllers tell it, and commands ask.",
     add_dbd<SchemaPrinter>, add_dbd<Decoders>, add_dbd<Services>},
    {"journal", "sluice.journal.v1", "The journal: frames of events, and checkpoints.",
     add_journal<SchemaPrinter>, add_journal<Decoders>, add_journal<Services>},
};
constexpr std::string_view kCommon = "common";

// What each service is for, and who serves it.
constexpr std::pair<std::string_view, std::string_view> kServices[] = {
    {"Accounting", "slurmdbd: what controllers tell, and commands ask."},
    {"Controller", "slurmctld: what commands and node agents ask."},
    {"Daemon", "Both slurmctld and slurmd."},
    {"NodeAgent", "slurmd: orders of the controller, and what commands ask of one node."}};

std::string services_text() {
  Services services;
  for (const SchemaFile& file : kFiles) file.add_services(services);
  std::string out = fmt::format(
      "// The methods, called as gRPC does: /{0}.Controller/SubmitJob. Who calls says who it is by \"authorization: Bearer\" and a\n"
      "// token of `scontrol token` (AuthAltTypes=auth/jwt).\n"
      "// Generated from the requests' kMethod by `sluice_schema proto`; a test keeps it in step.\n"
      "syntax = \"proto2\";\n\npackage {0};\n\n",
      kPackage);
  for (const SchemaFile& file : kFiles) {
    if (file.package == kPackage) out += fmt::format("import \"{}.proto\";\n", file.name);
  }
  for (const auto& [name, purpose] : kServices) {
    const auto methods = services.made.extract(std::string(name));
    SLUICE_CHECK(!methods.empty());
    out += fmt::format("\n// {}\nservice {} {{\n{}}}\n", purpose, name, methods.mapped());
  }
  SLUICE_CHECK(services.made.empty());  // a service that kServices does not know
  return out;
}

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

}  // namespace

std::map<std::string, std::string> schema_files() {
  const std::set<std::type_index> several = types_of_several_files();
  std::map<std::string, std::string> out;
  SchemaPrinter common;
  for (const SchemaFile& file : kFiles) {
    const std::string prefix = file.package == kPackage ? "" : fmt::format("{}.", kPackage);
    SchemaPrinter printer(SchemaPrinter::Import{&common, several, std::string(kCommon), prefix});
    file.add(printer);
    out[fmt::format("{}.proto", file.name)] = printer.text(file.package, file.purpose);
  }
  out[fmt::format("{}.proto", kCommon)] =
      common.text(kPackage, "What several of the other files need.");
  out["services.proto"] = services_text();
  return out;
}

std::map<std::string, MessageDecoder> message_decoders() {
  std::map<std::string, MessageDecoder> out;
  Decoders decoders{out};
  for (const SchemaFile& file : kFiles) file.add_decoders(decoders);
  return out;
}

}  // namespace sluice
