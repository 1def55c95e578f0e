// Which structs make up each file of proto/.
#include "ctld/tools/schema_files.hpp"

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
#include "ctld/state/cluster_state.hpp"

namespace sluice {

namespace {

template <class... T>
std::string file(std::string_view package, std::string_view purpose) {
  wire::SchemaPrinter printer;
  (static_cast<void>(printer.message<T>()), ...);
  return printer.text(package, purpose);
}

std::string journal_file() {
  wire::SchemaPrinter printer;
  // named first: other messages refer to it
  printer.message<state::Event>("Event");
  printer.message<journal::JournalFrame>();
  printer.message<state::StateImage>();
  return printer.text("sluice.journal", "The journal: frames of events, and checkpoints.");
}

std::string ctld_file() {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  return file<Empty, SubmitJobRequest, SubmitJobReply, WatchJobRequest, NodeAddress, JobWatchUpdate,
              CreateStepRequest, CreateStepReply, CreateHetStepRequest, CreateHetStepReply, LaunchOutsideRequest, DescribeStepRequest, DescribeStepReply,
              AttachStepRequest, EndAllocationRequest, QueryJobsRequest, JobRecord, JobChunk,
              QueryNodesRequest, NodeRecord, PartitionRecord, QueryNodesReply, QueryLicensesRequest, LicenseRecord, QueryLicensesReply, QueryConfigRequest,
              QueryConfigReply, PingRequest, PingReply, FetchConfigRequest, FetchConfigReply, BatchScriptRequest, BatchScriptReply,
              ExplainRequest, ExplainReply, SignalRequest, JobActionRequest, UpdateJobRequest,
              UpdateNodeRequest, UpdatePartitionRequest, CreateNodesRequest, DeleteNodesRequest, NotifyRequest, ReconfigureRequest,
              ShutdownRequest, SetDebugRequest, CountReply, RebootNodesRequest, UpdateStepRequest, SetRuntimeRequest,
              SetTriggerRequest, TriggerFilter, ClearTriggersRequest, QueryTriggersRequest, QueryTriggersReply, CronEntry,
              ReplaceCrontabRequest, ReplaceCrontabReply, QueryCrontabRequest, QueryCrontabReply,
              ReservationValues, ChangeReservationRequest, ChangeReservationReply,
              CreateUserTokenRequest, CreateUserTokenReply, QueryReservationsRequest, ReservationRecord, QueryReservationsReply, QueryStatisticsRequest, CallCount, CycleCounts, QueryStatisticsReply>("sluice.ctld",
                                                            "Users' commands and the controller.");
}

std::string noded_file() {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  return file<StepKey, RegisterNodeRequest, RegisterNodeReply, TaskExit, StepUsage, StepEnded,
              ReportStepsRequest, JobCleaned, ReportCleanedRequest, PrologDoneRequest, StepLaunch,
              LaunchStepRequest, RunPrologRequest, NodeReply, SignalStepRequest,
              TerminateJobRequest, TerminateStepRequest, PingNodeRequest, PingNodeReply, CheckHealthRequest, RebootNodeRequest,
              ReconfigureNodeRequest, ShutdownNodeRequest, ListPidsRequest, PidRecord,
              ListPidsReply, ShowAgentRequest, ShowAgentReply, StatStepRequest, TaskUsage,
              StatStepReply, QueryUsageRequest, NodeUsage, StepUsageRecord, QueryUsageReply>("sluice.noded",
                                                               "The controller and node agents.");
}

std::string stepd_file() {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  return file<StepHello, TasksStarted, WindowSize, SignalTasks, AttachRequest, PublishedName, MpiMessage, MpiSpawnRequest,
              MpiSpawned, StepdStart, StepRecord>("sluice.stepd", "Step daemons, their agents, and srun.");
}

std::string broadcast_file() {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  return file<BroadcastTicket, BroadcastTicketRequest, BroadcastTicketReply, BroadcastBlock, SendBlockRequest,
              BlockFailure, SendBlockReply, WriteBlockRequest, BlockReply, FileWriterStart>(
      "sluice.broadcast", "Files that sbcast sends to the nodes of a job.");
}

}  // namespace

std::map<std::string, std::string> schema_files() {
  return {{"journal.proto", journal_file()},
          {"ctld.proto", ctld_file()},
          {"noded.proto", noded_file()},
          {"broadcast.proto", broadcast_file()},
          {"stepd.proto", stepd_file()}};
}

}  // namespace sluice
