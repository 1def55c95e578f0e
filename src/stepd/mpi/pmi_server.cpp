#include "stepd/mpi/pmi_server.hpp"

#include <array>
#include <cerrno>

#include <boost/asio/buffer.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/step/mpi_spawned.hpp"
#include "common/names/step_names.hpp"
#include "common/wire/codec.hpp"
#include "stepd/mpi/process_mapping.hpp"

namespace sluice::stepd {

using protocol::MpiMessage;
using protocol::MpiMessageKind;

namespace {

constexpr size_t kMaxQueuedAnswers = 1U << 20;

PmiJob job_of(const PlanInput& input) {
  const StepLayout& layout = whole_layout(input.launch);
  return {
      step_id_text(whole_id(input.launch)), layout.num_tasks,
      layout.nodes[input.whole_index()].tasks, process_mapping(layout),
      read_mpi_spawned(Environment::from_block(input.launch.environment).get(kMpiSpawnedVariable))};
}

MpiMessage message_of(MpiMessageKind kind, const std::string& name = {}, std::string data = {}) {
  MpiMessage message;
  message.kind = kind;
  message.name = name;
  message.data = std::move(data);
  return message;
}

}  // namespace

PmiServer::PmiServer(const PlanInput& input, MpiHost host)
    : input_(input),
      host_(std::move(host)),
      node_(job_of(input),
            {[this](uint32_t local, const std::string& bytes) {
               tasks_[local]->queue.append(bytes);
               write(local);
             },
             [this](const PmiPairs& pairs) {
               host_.share(message_of(MpiMessageKind::kFence, {}, wire::encode(pairs)));
             },
             // the status that the task wants is not srun's: all tasks are killed, as with Slurm
             [this](uint32_t rank) { host_.abort(rank, 0, {}); },
             [this](const std::string& question, MpiMessageKind kind,
                    const protocol::PublishedName& what) {
               host_.share(
                   message_of(kind, question,
                              kind == MpiMessageKind::kPublish ? wire::encode(what) : what.name));
             },
             [this](const std::string& question, uint32_t rank,
                    const protocol::MpiSpawnRequest& request) {
               MpiMessage message =
                   message_of(MpiMessageKind::kSpawn, question, wire::encode(request));
               message.task = rank;
               host_.share(message);
             },
             [this] { host_.share(message_of(MpiMessageKind::kReady)); }}) {}

Status PmiServer::prepare(StepPlan& plan) {
  for (TaskPlan& task : plan.tasks) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return failure(fmt::format("mpi/pmi2: no socket for a task: {}", errno_text(errno)));
    }
    task.setup.mpi_socket = ends[1];
    plan.child_ends.push_back(ends[1]);
    auto& made = tasks_.emplace_back(std::make_shared<Task>(host_.io));
    boost::system::error_code ignored;
    made->socket.assign({}, ends[0], ignored);
    made->socket.non_blocking(true, ignored);
    Environment& env = task.setup.env;
    env.set("PMI_FD", std::to_string(kMpiDescriptor));
    env.set("PMI_JOBID", step_id_text(whole_id(input_.launch)));
    env.set("PMI_RANK", std::to_string(task.rank));
    env.set("PMI_SIZE", std::to_string(whole_layout(input_.launch).num_tasks));
    if (node_.is_spawned()) env.set("PMI_SPAWNED", "1");
    else env.unset("PMI_SPAWNED");
    env.unset(kMpiSpawnedVariable);
  }
  for (uint32_t local = 0; local < tasks_.size(); ++local) read(local);
  return {};
}

// Nothing is read from a task that does not take its answers.
void PmiServer::read(uint32_t local) {
  const auto task = tasks_[local];
  if (task->reading || !task->socket.is_open() || task->queue.size() > kMaxQueuedAnswers) return;
  task->reading = true;
  task->socket.async_wait(boost::asio::socket_base::wait_read,
                          [this, task, local](const boost::system::error_code& error) {
                            task->reading = false;
                            if (!error) readable(local);
                          });
}

void PmiServer::readable(uint32_t local) {
  const auto task = tasks_[local];
  std::array<char, 16384> buffer;
  const ssize_t bytes = ::read(task->socket.native_handle(), buffer.data(), buffer.size());
  const bool again = bytes < 0 && (errno == EINTR || errno == EAGAIN);
  if (bytes > 0) task->reader.feed({buffer.data(), static_cast<size_t>(bytes)});
  if (again || (bytes > 0 && obey(local))) return read(local);
  boost::system::error_code ignored;
  task->socket.close(ignored);
}

bool PmiServer::obey(uint32_t local) {
  for (;;) {
    const auto message = tasks_[local]->reader.next(node_.version(local));
    if (!message) {
      const StepNode& here = input_.launch.layout.nodes[input_.start.node_index];
      host_.tell_user(
          fmt::format("mpi/pmi2: task {}: {}", here.tasks[local], message.error().text));
      return false;
    }
    if (!message->has_value()) return true;
    node_.received(local, **message);
  }
}

void PmiServer::write(uint32_t local) {
  const auto task = tasks_[local];
  if (task->writing || task->queue.size() == 0 || !task->socket.is_open()) return;
  task->writing = true;
  task->socket.async_write_some(
      boost::asio::buffer(task->queue.next()),
      [this, task, local](const boost::system::error_code& error, size_t bytes) {
        task->writing = false;
        if (error) return;
        task->queue.taken(bytes);
        write(local);
        read(local);
      });
}

void PmiServer::received(const MpiMessage& message) {
  if (message.kind == MpiMessageKind::kReply) {
    if (node_.spawn_answer(message.name, message.status == 0, message.data)) return;
    return node_.name_answer(message.name, message.status == 0, message.data);
  }
  if (message.kind != MpiMessageKind::kFence) return;
  const auto pairs = wire::decode<PmiPairs>(message.data);
  node_.fence_done(message.status == 0 && pairs, pairs ? *pairs : PmiPairs{});
}

void PmiServer::stop() {
  boost::system::error_code ignored;
  for (const auto& task : tasks_) task->socket.close(ignored);
}

}  // namespace sluice::stepd
