// How a command talks to the controller: it reads the configuration (SLURM_CONF), or has it sent
// (by SLURM_CONF_SERVER, or by whom the DNS names), proves who calls it, and asks the controllers
// in their order until one answers. Requests of the service Accounting go to the accounting daemon
// that the configuration names.
//
//   Result<Client> client = Client::open();
//   if (!client) return report("sbatch", client.error());
//   Result<protocol::SubmitJobReply> reply = client->call<protocol::SubmitJobReply>(request);
//
// Errors carry Slurm's texts (error_text()): a controller that cannot be reached gives
// kUnreachable, "Unable to contact slurm controller (connect failure)".
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/net/method_name.hpp"
#include "common/net/rpc_client.hpp"
#include "common/wire/instances.hpp"

namespace sluice {
struct ClusterConfig;
struct NodeConfig;
namespace protocol {
struct JobChunk;
struct JobWatchUpdate;
struct QueryJobsRequest;
struct WatchJobRequest;
}  // namespace protocol
}  // namespace sluice

namespace sluice::cli {

class Client {
 public:
  // Reads the configuration; nothing is connected before the first call, except to fetch it where
  // this host has none. Errors: kInvalidConfig (text with file, line and key), kNotFound (no
  // configuration at all).
  [[nodiscard]] static Result<Client> open();
  // With a configuration read already.
  [[nodiscard]] static Result<Client> open(ClusterConfig config);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // From now on: while no controller can be reached it is asked again, for MessageTimeout as
  // Slurm's commands do, and without a word. Where a connection broke before the answer, what only
  // looks is asked again, too.
  void keep_asking(bool yes = true);
  // An answer will hold a token: warns where it comes over a network in plain text. Before the
  // first call.
  void expect_token();
  // Instead of MessageTimeout.
  void wait_for_answers(Duration timeout);
  // What slurm.conf says apart from nodes and partitions (all of it after open(config)).
  [[nodiscard]] const ClusterConfig& config() const;
  // The nodes of slurm.conf, which are read when first asked for; none when they cannot be read.
  [[nodiscard]] const std::vector<NodeConfig>& nodes();
  // As the controller has them, so those too that no file names; slurm.conf's when it does not
  // answer.
  [[nodiscard]] const std::vector<NodeConfig>& nodes_with_dynamic();

  // One question, one answer. Waits MessageTimeout unless `timeout` is given (not zero).
  template <class Reply, class Request>
  requires net::Answers<Reply, Request>
  [[nodiscard]] Result<Reply> call(const Request& request, Duration timeout = Duration(0)) {
    Result<std::string> bytes =
        call_bytes(net::method_name<Request>(), wire::encode(request), timeout);
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    return wire::decode<Reply>(*bytes);
  }

  // The same to the agent of a node.
  template <class Reply, class Request>
  requires net::Answers<Reply, Request>
  [[nodiscard]] Result<Reply> call_node(const NodeConfig& node, const Request& request,
                                        Duration timeout = Duration(0)) {
    Result<std::string> bytes =
        call_node_bytes(node, net::method_name<Request>(), wire::encode(request), timeout);
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    return wire::decode<Reply>(*bytes);
  }

  // One question, many chunks, in order; `take` returns false to stop reading (which is no error).
  template <class Chunk, class Request>
  requires net::Answers<Chunk, Request>
  [[nodiscard]] Status stream(const Request& request, const std::function<bool(Chunk&&)>& take,
                              Duration timeout = Duration(0)) {
    Error bad;
    bool failed = false;
    Status status = stream_bytes(
        net::method_name<Request>(), wire::encode(request),
        [&](std::string_view bytes) {
          Result<Chunk> chunk = wire::decode<Chunk>(bytes);
          if (chunk) return take(std::move(*chunk));
          failed = true;
          bad = chunk.error();
          return false;
        },
        timeout);
    if (failed) return tl::unexpected<Error>(std::move(bad));
    return status;
  }

  // The same, read by the caller: one thread reads, any may cancel. The client must outlive it.
  template <class Chunk, class Request>
  requires net::Answers<Chunk, Request>
  [[nodiscard]] Result<net::StreamReader<Chunk>> open_stream(const Request& request) {
    auto raw = open_bytes(net::method_name<Request>(), wire::encode(request));
    if (!raw) return tl::unexpected<Error>(std::move(raw.error()));
    return net::StreamReader<Chunk>(std::move(*raw));
  }

  // squeue, scontrol show job: chunks of records as the controller sends them.
  [[nodiscard]] Status query_jobs(const protocol::QueryJobsRequest& request,
                                  const std::function<bool(protocol::JobChunk&&)>& take);
  // srun, salloc, sbatch -W: updates until the job ended (then it returns success), `take` returns
  // false, or the controller goes away (kUnreachable: call again). No timeout.
  [[nodiscard]] Status watch_job(const protocol::WatchJobRequest& request,
                                 const std::function<bool(protocol::JobWatchUpdate&&)>& take);

 private:
  struct Parts;
  [[nodiscard]] Result<std::string> call_once(std::string_view method, const std::string& request,
                                              Duration timeout);
  [[nodiscard]] Status stream_once(std::string_view method, const std::string& request,
                                   const std::function<bool(std::string_view)>& take,
                                   Duration timeout);
  explicit Client(std::unique_ptr<Parts> parts);
  [[nodiscard]] static Result<Client> open_from_controller();
  [[nodiscard]] Result<std::string> call_bytes(std::string_view method, const std::string& request,
                                               Duration timeout);
  [[nodiscard]] Result<std::string> call_node_bytes(const NodeConfig& node, std::string_view method,
                                                    const std::string& request, Duration timeout);
  [[nodiscard]] Result<std::unique_ptr<net::RawStream>> open_bytes(std::string_view method,
                                                                   const std::string& request);
  [[nodiscard]] Status stream_bytes(std::string_view method, const std::string& request,
                                    const std::function<bool(std::string_view)>& take,
                                    Duration timeout);
  std::unique_ptr<Parts> parts_;
};

// Prints `COMMAND: error: TEXT`, or what Slurm says instead when there is no configuration, and
// gives exit status 1.
int report(std::string_view command, const Error& error);

}  // namespace sluice::cli
