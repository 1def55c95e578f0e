// Sends a file to the nodes of a job: what sbcast and srun --bcast have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/shared/client.hpp"
#include "common/protocol/broadcast.hpp"

namespace sluice::cli {

struct BroadcastOptions {
  std::string command = "sbcast";
  std::string source;
  std::string destination;  // absolute
  bool per_node = false;    // each node's name is added to it
  bool force = false;
  bool preserve = false;
  bool send_libraries = false;
  uint32_t verbose = 0;
  uint32_t block_bytes = 8U << 20;
  uint32_t fanout = 0;  // 0: TreeWidth
  Duration timeout{0};  // 0: MessageTimeout
  protocol::Compression compression = protocol::Compression::kNone;
  std::vector<std::string> exclude;  // shared objects below these folders stay at home
};

// "lz4", "none" or "" (the usual one); an unknown one is complained of and means none.
[[nodiscard]] protocol::Compression compression_of(std::string_view command, std::string_view name);
// Of --exclude and its like: "none" excludes nothing.
[[nodiscard]] std::vector<std::string> excluded_folders(std::string_view list);

class Broadcast {
 public:
  Broadcast(Client& client, BroadcastOptions options)
      : client_(client), options_(std::move(options)) {}
  // To the nodes of the job, or of one step; `name` is what it is called in messages. 0, or the
  // exit status that says why not: an errno of the nodes, or 255. It was said.
  int send(JobId job, StepNumber step, const std::string& name);
  // The same to these nodes, without a job.
  int send_to(const std::string& nodes);
  // After that: takes the file away again from these nodes.
  void remove(std::vector<std::string> nodes);
  // The names of the nodes it went to.
  [[nodiscard]] std::vector<std::string> nodes() const;

 private:
  struct Source;
  struct Receivers {
    protocol::BroadcastTicketRequest request;
    std::string name;  // of the job, for messages; empty: none
  };
  int send(const Receivers& receivers);
  int get_ticket(const Receivers& receivers);
  int report_refusal(const Receivers& receivers, const Error& error) const;
  int send_file(Source& source, const std::string& suffix);
  int send_libraries();
  int send_block(protocol::BroadcastBlock block);
  [[nodiscard]] Result<protocol::SendBlockReply> ask(const protocol::SendBlockRequest& request);
  void show_source(const Source& source) const;

  Client& client_;
  BroadcastOptions options_;
  protocol::BroadcastTicketReply ticket_;
  std::vector<protocol::NodeAddress> nodes_;
};

}  // namespace sluice::cli
