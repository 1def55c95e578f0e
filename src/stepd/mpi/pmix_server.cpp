#include "stepd/mpi/pmix_server.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <future>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/names/step_names.hpp"
#include "common/os/remove_tree.hpp"
#include "stepd/mpi/pmix_exchange.hpp"
#include "stepd/mpi/pmix_job.hpp"
#include "stepd/mpi/process_mapping.hpp"

namespace sluice::stepd {

using protocol::MpiMessage;
using protocol::MpiMessageKind;

namespace {

constexpr auto kPatience = std::chrono::seconds(30);  // with libpmix's own thread

// libpmix calls without saying for which server: a process has one at most.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<PmixServer*> the_server = nullptr;

template <class Work>
void hand_over(Work work) {
  PmixServer::hand_over(std::move(work));
}

// Hands data to libpmix, which says when it needs them no more.
PmixServer::Waiter to_libpmix(pmix_modex_cbfunc_t done, void* context) {
  return [done, context](pmix_status_t status, const std::string& data) {
    if (done == nullptr) return;
    auto kept = std::make_unique<std::string>(data);
    const char* bytes = kept->empty() ? nullptr : kept->data();
    const size_t size = kept->size();
    done(
        status, bytes, size, context, [](void* old) { delete static_cast<std::string*>(old); },
        kept.release());
  };
}

// NOLINTBEGIN(readability-function-size): parameters as libpmix has them
pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t,
                       char* data, size_t size, pmix_modex_cbfunc_t done, void* context) {
  std::vector<pmix_rank_t> ranks;
  if (!pmix_ranks(procs, count, ranks)) return PMIX_ERR_NOT_SUPPORTED;
  std::string bytes = data != nullptr ? std::string(data, size) : std::string();
  ::free(data);  // it is ours now
  hand_over([ranks = std::move(ranks), bytes = std::move(bytes), done,
             context](PmixServer& server) mutable {
    server.fence(std::move(ranks), std::move(bytes), to_libpmix(done, context));
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_request(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                         pmix_modex_cbfunc_t done, void* context) {
  const PmixServer* known = the_server;
  if (known == nullptr || known->name() != proc->nspace) return PMIX_ERR_NOT_FOUND;
  hand_over([rank = proc->rank, done, context](PmixServer& server) {
    server.ask_for(rank, to_libpmix(done, context));
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char[], pmix_proc_t[],
                       size_t, pmix_op_cbfunc_t done, void* context) {
  hand_over([rank = proc->rank, status, done, context](PmixServer& server) {
    if (done != nullptr) done(PMIX_SUCCESS, context);  // it may go now, with its own status
    server.aborted(rank, status);
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_client(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_event_interest(pmix_status_t*, size_t, const pmix_info_t[], size_t,
                                pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_event_disinterest(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

void on_event(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t[], size_t,
              pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* context) {
  if (status == PMIX_ERR_LOST_CONNECTION && source != nullptr) {
    hand_over([rank = source->rank](PmixServer& server) { server.lost(rank); });
  }
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, context);
}

// NOLINTEND(readability-function-size)

// Another task's data that this node was asked for.
struct DataQuestion {
  uint32_t node = 0;  // who asks
  std::string name;
};
void on_data(pmix_status_t status, char* data, size_t size, void* context) {
  const std::unique_ptr<DataQuestion> question(static_cast<DataQuestion*>(context));
  std::string bytes = data != nullptr ? std::string(data, size) : std::string();
  hand_over([node = question->node, name = question->name, status,
             bytes = std::move(bytes)](PmixServer& server) mutable {
    server.answer(node, name, status, std::move(bytes));
  });
}

pmix_server_module_t make_module() {
  pmix_server_module_t module{};
  module.client_connected = on_client;
  module.client_finalized = on_client;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.direct_modex = on_request;
  module.register_events = on_event_interest;
  add_pmix_exchange(module);
  module.deregister_events = on_event_disinterest;
  return module;
}

using Answer = std::promise<pmix_status_t>;
void on_answer(pmix_status_t status, void* context) {
  static_cast<Answer*>(context)->set_value(status);
}
void on_registered(pmix_status_t status, size_t, void* context) {
  static_cast<Answer*>(context)->set_value(status);
}

// Calls a function that answers on libpmix's thread, and waits for that.
template <class Call>
pmix_status_t wait_for(Call call) {
  // left to libpmix when it does not answer in time
  auto answer = std::make_unique<Answer>();
  auto result = answer->get_future();
  const pmix_status_t started = call(static_cast<void*>(answer.get()));
  if (started == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
  if (started != PMIX_SUCCESS) return started;
  if (result.wait_for(kPatience) == std::future_status::ready) return result.get();
  static_cast<void>(answer.release());
  return PMIX_ERR_TIMEOUT;
}

}  // namespace

PmixServer* PmixServer::current() { return the_server; }

uint32_t PmixServer::num_nodes() const {
  return static_cast<uint32_t>(whole_layout(input_.launch).nodes.size());
}

PmixServer::PmixServer(const PlanInput& input, MpiHost host)
    : input_(input),
      host_(std::move(host)),
      namespace_(pmix_namespace(whole_id(input.launch))),
      folder_(pmix_folder(input.start.mpi.pmix_tmp_base, input.start.spool_dir,
                          input.start.node_name, input.launch.key.id)) {}

PmixServer::~PmixServer() { stop(); }

tl::unexpected<Error> PmixServer::failed(std::string_view what, pmix_status_t status) const {
  return failure(fmt::format("mpi/pmix: {}: {}", what, library_.error_string(status)));
}

pmix_proc_t PmixServer::process(pmix_rank_t rank) const {
  pmix_proc_t proc{};
  copy_name(proc.nspace, namespace_, sizeof proc.nspace);
  proc.rank = rank;
  return proc;
}

std::optional<uint32_t> PmixServer::node_of(pmix_rank_t rank) const {
  const auto& nodes = whole_layout(input_.launch).nodes;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (std::find(nodes[i].tasks.begin(), nodes[i].tasks.end(), rank) != nodes[i].tasks.end())
      return i;
  }
  return std::nullopt;
}

Status PmixServer::prepare(StepPlan& plan) {
  if (Status heard = listen_to_library(); !heard) return heard;
  for (const std::string& pair : split(input_.start.mpi.pmix_environment, ';')) {
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos) continue;
    ::setenv(pair.substr(0, equals).c_str(), pair.c_str() + equals + 1, 1);
    for (TaskPlan& task : plan.tasks)
      task.setup.env.set(pair.substr(0, equals), pair.substr(equals + 1));
  }
  auto library = load_pmix(input_.user.switches);
  if (!library) return tl::unexpected<Error>(library.error());
  library_ = *library;
  Status done = make_folder();
  if (done) done = start_library();
  if (done) done = register_job();
  for (TaskPlan& task : plan.tasks) {
    if (done) done = set_up(task);
  }
  return done ? give_folder() : done;
}

Status PmixServer::listen_to_library() {
  const uint32_t debug = input_.start.mpi.pmix_debug;
  if (debug == 0) return {};
  ::setenv("PMIX_DEBUG", std::to_string(debug).c_str(), 1);
  auto words = LibraryWords::start(host_.io, [log = host_.log](std::string_view line) {
    log(fmt::format("libpmix: {}", line));
  });
  if (!words) return tl::unexpected<Error>(words.error());
  words_ = std::move(*words);
  return {};
}

Status PmixServer::make_folder() {
  (void)remove_tree(folder_);  // an earlier run of this step left it
  if (::mkdir(folder_.c_str(), 0700) == 0) return {};
  return failure(fmt::format("mpi/pmix: cannot make {}: {}", folder_, errno_text(errno)));
}

// The user's, for what the tasks put there: from now on, that nobody changes what is there while
// libpmix, as root, makes it and gives it away.
Status PmixServer::give_folder() {
  if (!input_.user.switches) return {};
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const bool given = folder >= 0 && ::fchown(folder, input_.user.uid, input_.user.gid) == 0;
  const int why = errno;
  if (folder >= 0) ::close(folder);
  if (given) return {};
  return failure(fmt::format("mpi/pmix: {}: {}", folder_, errno_text(why)));
}

Status PmixServer::start_library() {
  static pmix_server_module_t module = make_module();
  PmixInfo info;
  info.text(PMIX_SERVER_TMPDIR, folder_);
  info.text(PMIX_HOSTNAME, distinct_node_names(whole_layout(input_.launch))[input_.whole_index()]);
  info.text(PMIX_SERVER_NSPACE, namespace_ + ".server");
  info.rank(PMIX_SERVER_RANK, input_.whole_index());
  info.number(PMIX_USERID, input_.user.uid);
  info.number(PMIX_GRPID, input_.user.gid);
  the_server = this;
  pmix_status_t status = library_.server_init(&module, info.data(), info.size());
  if (status != PMIX_SUCCESS) return failed("the server does not start", status);
  running_ = true;
  pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
  status = wait_for([&](void* answer) {
    const pmix_status_t made =
        library_.register_event_handler(&lost, 1, nullptr, 0, on_event, on_registered, answer);
    return made < 0 ? made : PMIX_SUCCESS;
  });
  if (status != PMIX_SUCCESS) return failed("no news of lost tasks", status);
  return {};
}

Status PmixServer::register_job() {
  PmixInfo info;
  describe_pmix_job(library_, input_, folder_, info);
  const pmix_proc_t job = process(PMIX_RANK_WILDCARD);
  const auto tasks =
      static_cast<int>(input_.launch.layout.nodes[input_.start.node_index].tasks.size());
  const pmix_status_t status = wait_for([&](void* answer) {
    return library_.register_nspace(job.nspace, tasks, info.data(), info.size(), on_answer, answer);
  });
  if (status != PMIX_SUCCESS) return failed("the step cannot be made known", status);
  return {};
}

Status PmixServer::set_up(TaskPlan& task) {
  const pmix_proc_t proc = process(task.rank);
  const pmix_status_t known = wait_for([&](void* answer) {
    return library_.register_client(&proc, input_.user.uid, input_.user.gid, nullptr, on_answer,
                                    answer);
  });
  if (known != PMIX_SUCCESS) return failed("a task cannot be made known", known);
  auto** variables = static_cast<char**>(::calloc(1, sizeof(char*)));
  const pmix_status_t made = library_.setup_fork(&proc, &variables);
  for (char** entry = variables; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      task.setup.env.set(text.substr(0, equals), text.substr(equals + 1));
    }
    ::free(*entry);
  }
  ::free(variables);
  if (made != PMIX_SUCCESS) return failed("a task cannot be prepared", made);
  return {};
}

void PmixServer::fence(std::vector<pmix_rank_t> ranks, std::string data, Waiter waiter,
                       const std::string& purpose) {
  std::sort(ranks.begin(), ranks.end());
  MpiMessage message;
  message.kind = MpiMessageKind::kFence;
  // the same on all nodes; "": all ranks
  message.name = fmt::format("{}{}", purpose, fmt::join(ranks, ","));
  message.data = std::move(data);
  for (const pmix_rank_t rank : ranks) {
    if (const auto node = node_of(rank)) message.nodes.push_back(*node);
  }
  std::sort(message.nodes.begin(), message.nodes.end());
  message.nodes.erase(std::unique(message.nodes.begin(), message.nodes.end()), message.nodes.end());
  if (alone_) return waiter(PMIX_ERR_LOST_CONNECTION, {});
  fences_[message.name].push_back(std::move(waiter));
  host_.share(message);
}

void PmixServer::ask_for(pmix_rank_t rank, Waiter waiter) {
  const auto node = node_of(rank);
  if (!node) return waiter(PMIX_ERR_NOT_FOUND, {});
  if (alone_) return waiter(PMIX_ERR_LOST_CONNECTION, {});
  MpiMessage message;
  message.kind = MpiMessageKind::kRequest;
  message.name = std::to_string(++last_question_);
  message.nodes = {*node};
  message.task = rank;
  Question& question = questions_[message.name];
  question.waiter = std::move(waiter);
  if (const uint32_t patience_s = input_.start.mpi.pmix_timeout_s; patience_s > 0) {
    question.timer =
        std::make_unique<boost::asio::steady_timer>(host_.io, std::chrono::seconds(patience_s));
    question.timer->async_wait([name = message.name](const boost::system::error_code& error) {
      if (PmixServer* server = current(); server != nullptr && !error)
        server->finish(name, PMIX_ERR_TIMEOUT, {});
    });
  }
  host_.share(message);
}

void PmixServer::answer(uint32_t node, const std::string& question, pmix_status_t status,
                        std::string data) {
  MpiMessage message;
  message.kind = MpiMessageKind::kReply;
  message.name = question;
  message.nodes = {node};
  message.status = status;
  message.data = std::move(data);
  host_.share(message);
}

void PmixServer::serve_request(const MpiMessage& message) {
  auto question = std::make_unique<DataQuestion>(DataQuestion{message.from, message.name});
  const pmix_proc_t proc = process(message.task);
  const pmix_status_t status = library_.dmodex_request(&proc, on_data, question.get());
  if (status == PMIX_SUCCESS) {
    static_cast<void>(question.release());  // on_data() takes it
  } else {
    answer(message.from, message.name, status, {});
  }
}

void PmixServer::received(const MpiMessage& message) {
  switch (message.kind) {
    case MpiMessageKind::kFence: {
      const auto waiting = fences_.find(message.name);
      if (waiting == fences_.end()) return;
      const Waiter waiter = waiting->second.front();
      waiting->second.pop_front();
      if (waiting->second.empty()) fences_.erase(waiting);
      return waiter(message.status == 0 ? PMIX_SUCCESS : PMIX_ERR_LOST_CONNECTION, message.data);
    }
    case MpiMessageKind::kRequest: return serve_request(message);
    case MpiMessageKind::kReply:
      if (!names_.answered(message)) finish(message.name, message.status, message.data);
      return;
    case MpiMessageKind::kTaskLost: return notify_lost(message.task);
    default: return;
  }
}

void PmixServer::finish(const std::string& question, pmix_status_t status,
                        const std::string& data) {
  if (auto asked = questions_.extract(question)) asked.mapped().waiter(status, data);
}

void PmixServer::alone() {
  alone_ = true;
  for (const auto& [name, waiters] : std::exchange(fences_, {})) {
    for (const Waiter& waiter : waiters) waiter(PMIX_ERR_LOST_CONNECTION, {});
  }
  for (const auto& [name, question] : std::exchange(questions_, {}))
    question.waiter(PMIX_ERR_LOST_CONNECTION, {});
  names_.alone();
}

void PmixServer::aborted(pmix_rank_t rank, int status) {
  ending_ = true;
  host_.abort(rank, status, {});
}

void PmixServer::lost(pmix_rank_t rank) {
  if (std::exchange(ending_, true)) return;
  MpiMessage message;
  message.kind = MpiMessageKind::kTaskLost;
  message.task = rank;
  host_.share(message);
  notify_lost(rank);
  host_.abort(rank, 0, fmt::format("mpi/pmix: task {} went away without ending MPI", rank));
}

// Tasks that asked to be told of it; the others are left alone.
void PmixServer::notify_lost(pmix_rank_t rank) {
  const pmix_proc_t proc = process(rank);
  auto info = std::make_unique<PmixInfo>();
  info->flag(PMIX_EVENT_NON_DEFAULT, true);
  pmix_info_t* data = info->data();
  const size_t size = info->size();
  const pmix_status_t status = library_.notify_event(
      PMIX_ERR_PROC_ABORTED, &proc, PMIX_RANGE_LOCAL, data, size,
      [](pmix_status_t, void* old) { delete static_cast<PmixInfo*>(old); }, info.get());
  if (status == PMIX_SUCCESS) static_cast<void>(info.release());
}

void PmixServer::stop() {
  the_server = nullptr;
  if (std::exchange(running_, false)) library_.server_finalize();
  if (words_) words_->stop();
  (void)remove_tree(folder_);
}

}  // namespace sluice::stepd
