#include "system/wire/rows.hpp"

#include <csignal>

#include "common/net/method_name.hpp"
#include "common/protocol/admin.hpp"
#include "common/protocol/assoc_mgr.hpp"
#include "common/protocol/broadcast.hpp"
#include "common/protocol/config_files.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/job_filter.hpp"
#include "common/protocol/node_query.hpp"
#include "common/protocol/noded.hpp"
#include "common/protocol/priority.hpp"
#include "common/protocol/protocol_version.hpp"
#include "common/protocol/reservation.hpp"
#include "common/protocol/stepd.hpp"
#include "common/protocol/usage.hpp"
#include "common/protocol/user_token.hpp"
#include "common/rpc/fanout.hpp"

namespace sluice::testing {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): all it holds is named here

template <class Make>
Row row(Server server, Stranger stranger, uint32_t allowed, Make make) {
  using Request = std::invoke_result_t<Make, JobId>;
  Row out;
  out.server = server;
  out.method = net::method_name<Request>();
  out.stranger = stranger;
  out.allowed = allowed;
  out.request = [make](JobId job, Mutator* mutator, double chance) {
    Request request = make(job);
    if (mutator != nullptr) mutator->change(request, chance);
    return wire::encode(request);
  };
  return out;
}

template <class Request, class... Fields>
auto made(Fields... fields) {
  return [=](JobId) { return Request{fields...}; };
}

std::string text(JobId job) { return std::to_string(job); }

// What users ask the controller.
void add_user_rows(std::vector<Row>& rows) {
  const auto add = [&](Stranger stranger, auto make) {
    rows.push_back(row(Server::kController, stranger, kAlice, make));
  };
  add(Stranger::kHarmless, made<PingRequest>());
  rows.back().anyone = true;
  add(Stranger::kHarmless, made<QueryConfigRequest>());
  add(Stranger::kHarmless, made<FetchConfigRequest>());
  add(Stranger::kHarmless, made<QueryNodesRequest>());
  add(Stranger::kHarmless, made<QueryLicensesRequest>());
  add(Stranger::kHarmless, made<QueryReservationsRequest>());
  add(Stranger::kHidden, [](JobId job) {
    QueryJobsRequest request;
    request.ids = {text(job)};
    request.all_states = request.steps = true;
    return request;
  });
  add(Stranger::kHarmless, [](JobId job) { return QueryPrioritiesRequest{{job}, {}, {}}; });
  add(Stranger::kHarmless, made<QueryAssocMgrRequest>());
  add(Stranger::kHidden, [](JobId job) { return ExplainRequest{text(job)}; });
  add(Stranger::kDenied, [](JobId job) { return BatchScriptRequest{job}; });
  add(Stranger::kHarmless, [](JobId) {  // becomes the sender's own job, whatever it says
    SubmitJobRequest request;
    request.spec.uid = request.spec.gid = kAlice;
    request.spec.batch = request.spec.hold = true;
    request.spec.num_tasks = 1;
    request.spec.work_dir = "/tmp";
    request.script = "#!/bin/sh\n";
    return request;
  });
  add(Stranger::kDenied, [](JobId job) {
    CreateStepRequest request;
    request.job = job;
    request.spec.arguments = {"true"};
    request.spec.num_tasks = 1;
    request.spec.overlap = OverlapKind::kOverlap;
    return request;
  });
  add(Stranger::kDenied, [](JobId job) {
    CreateHetStepRequest request;
    request.parts.emplace_back().job = job;
    return request;
  });
  add(Stranger::kDenied, [](JobId job) { return DescribeStepRequest{{job, kBatchStep}}; });
  add(Stranger::kDenied, [](JobId job) {
    return protocol::AttachStepRequest{{job, kBatchStep}, {"127.0.0.1", 9, "key"}, true};
  });
  add(Stranger::kDenied, [](JobId job) { return QueryUsageRequest{{job, kBatchStep}, false}; });
  add(Stranger::kDenied, [](JobId job) { return WatchJobRequest{job, true}; });
  add(Stranger::kDenied, [](JobId job) { return NotifyRequest{text(job), "hello"}; });
  add(Stranger::kDenied, [](JobId job) {
    UpdateJobRequest request;
    request.target = text(job);
    request.update.comment = "changed";
    return request;
  });
  add(Stranger::kDenied, [](JobId job) {
    return JobActionRequest{text(job), JobAction::kHold, false};
  });
  add(Stranger::kDenied, [](JobId job) { return UpdateStepRequest{{job, kBatchStep}, true, 60}; });
  rows.back().refusal = ErrorCode::kInvalidUser;
  add(Stranger::kDenied, [](JobId job) { return BroadcastTicketRequest{job, kWholeJob}; });
  add(Stranger::kHarmless, made<QueryTriggersRequest>());
  add(Stranger::kHarmless, made<QueryStatisticsRequest>());
  add(Stranger::kDenied, [](JobId) { return QueryCrontabRequest{kAlice}; });
  add(Stranger::kDenied, [](JobId) {
    ReplaceCrontabRequest request;
    request.uid = request.gid = kAlice;
    request.text = "# nothing\n";
    return request;
  });
  add(Stranger::kHarmless, [](JobId job) {  // what is refused stands in the answer
    CancelJobsRequest request;
    request.filter.ids = {text(job)};
    request.flags = kSignalCancel;
    return request;
  });
  add(Stranger::kDenied, [](JobId job) { return SignalRequest{text(job), SIGUSR1, kSignalFull}; });
  add(Stranger::kDenied, [](JobId job) { return EndAllocationRequest{job, 0}; });
}

// What only administrators, and agents, say to the controller.
void add_root_rows(std::vector<Row>& rows) {
  const auto add = [&](auto make) {
    rows.push_back(row(Server::kController, Stranger::kDenied, 0, make));
  };
  add([](JobId) {
    UpdateNodeRequest request;
    request.update.nodes = "n1";
    request.update.comment = "changed";
    return request;
  });
  add([](JobId) {
    UpdatePartitionRequest request;
    request.name = "debug";
    request.values["MaxTime"] = "100";
    return request;
  });
  // is there already
  add([](JobId) { return CreateNodesRequest{{{"NodeName", "n1"}, {"State", "CLOUD"}}}; });
  rows.back().refusal = ErrorCode::kInvalidUser;
  add([](JobId) { return DeleteNodesRequest{"no-such-node"}; });
  rows.back().refusal = ErrorCode::kInvalidUser;
  add([](JobId) { return SetDebugRequest{"debug", {"+Agent"}}; });
  add([](JobId) {
    LaunchOutsideRequest request;
    request.id = {kFirstOutsideJob, 1};
    request.node_list = "n1";
    request.spec.arguments = {"true"};
    request.spec.num_tasks = 1;
    request.spec.work_dir = "/tmp";
    return request;
  });
  add(made<ReconfigureRequest>());
  add([](JobId) { return RebootNodesRequest{"n1", false, AfterReboot::kAsBefore, "test"}; });
  add([](JobId) { return SetRuntimeRequest{7, {}}; });
  add([](JobId) {
    SetTriggerRequest request;
    request.trigger.events = kTriggerDown;
    request.trigger.program = "/bin/true";
    return request;
  });
  add([](JobId) { return ResetUsageRequest{{"root"}, {}, {}}; });
  add([](JobId) {
    ChangeReservationRequest request;
    request.action = ReservationAction::kCreate;
    request.name = "theirs";
    request.values.start = from_seconds(4'000'000'000);
    request.values.duration = std::chrono::hours(1);
    request.values.nodes = "n1";
    request.values.users = NameList{"root", ListChange::kReplace};
    request.values.add_flags = kReservationIgnoreJobs;
    return request;
  });
  rows.back().refusal = ErrorCode::kInvalidUser;  // as Slurm says it
  add([](JobId) { return CreateUserTokenRequest{"root", 60}; });
  rows.back().refusal = ErrorCode::kNotSupported;  // there is no auth/jwt; with it: system:jwt
  add([](JobId) { return ClearTriggersRequest{{1, {}, {}}}; });
  rows.back().refusal = ErrorCode::kNotFound;  // a stranger could not set it
  add([](JobId) {
    RegisterNodeRequest request;
    request.name = "no-such-node";
    request.protocol_version = kProtocolVersion;
    return request;
  });
  add([](JobId job) {
    ReportStepsRequest request;
    request.ended.emplace_back();
    request.ended[0].key.id = {job, kBatchStep};
    request.ended[0].nodes = "n1";
    return request;
  });
  add([](JobId job) {
    ReportCleanedRequest request;
    request.cleaned.push_back({job, 0, "n1", 0, false});
    return request;
  });
  add([](JobId job) {
    ReportPrologsRequest request;
    request.ended.push_back({job, 0, "n1", 0});
    return request;
  });
  add(made<ShutdownRequest>(true));
  rows.back().ends = true;
}

void add_agent_rows(std::vector<Row>& rows) {
  const auto add = [&](auto make) {
    rows.push_back(row(Server::kAgent, Stranger::kDenied, 0, make));
  };
  add([](JobId job) {
    ListPidsRequest request;
    request.job = job;
    return request;
  });
  rows.back().stranger = Stranger::kHarmless;
  add(made<ShowAgentRequest>());
  rows.back().stranger = Stranger::kHarmless;
  add([](JobId job) {
    return AttachRequest{{{job, kBatchStep}, 0}, {"127.0.0.1", 9, "key"}, true};
  });
  rows.back().allowed = kAlice;
  add([](JobId job) { return StatStepRequest{{job, kBatchStep}}; });
  add([](JobId) { return LaunchStepRequest{"launch", "signature"}; });
  add([](JobId) { return PingNodeRequest{"another cluster", 1}; });
  add([](JobId job) {
    SignalStepRequest request;
    request.key.id = {job, kBatchStep};
    request.signal = SIGCONT;
    return request;
  });
  add([](JobId job) { return RunPrologRequest{job, 0, {}, "debug", "n1"}; });
  add([](JobId job) { return TerminateStepRequest{{{job, kBatchStep}, 0}, true, "ended"}; });
  add([](JobId job) {
    TerminateJobRequest request;
    request.job = job;
    request.at_once = true;
    return request;
  });
  add([](JobId) {
    ReportStepsRequest request;
    request.cluster_id = "another cluster";
    return request;
  });
  add(made<ReportCleanedRequest>(std::string("another cluster")));
  add(made<ReportPrologsRequest>(std::string("another cluster")));
  add([](JobId job) {
    SignalStepRequest inner;
    inner.key.id = {job, kBatchStep};
    inner.signal = SIGCONT;
    net::FanoutRequest request;
    request.targets = {{"n1", "127.0.0.1:1"}};
    request.method = net::method_name<SignalStepRequest>();
    request.payload = wire::encode(inner);
    return request;
  });
  add(made<SendBlockRequest>());
  // whoever has the controller's signature may
  rows.back().refusal = ErrorCode::kInvalidCredential;
  add(made<WriteBlockRequest>());
  add([](JobId) { return SetDebugRequest{"debug", {"+Steps"}}; });
  add(made<CheckHealthRequest>());
  add(made<RebootNodeRequest>());
  add(made<ReconfigureNodeRequest>());
  rows.back().ends = true;  // an empty configuration leaves no node
  add(made<ShutdownNodeRequest>());
  rows.back().ends = true;
}

}  // namespace

const std::vector<Row>& all_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> out;
    add_user_rows(out);
    add_root_rows(out);
    add_agent_rows(out);
    return out;
  }();
  return rows;
}

}  // namespace sluice::testing
