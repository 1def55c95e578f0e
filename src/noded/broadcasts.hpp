// Files that sbcast and srun --bcast send to this node: a process that is the user writes each of
// them. All on the agent's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "common/protocol/broadcast.hpp"
#include "common/step/frame_connection.hpp"
#include "noded/process/child_processes.hpp"
#include "noded/steps/job_containers.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

// What this node takes of a user at one time.
struct BroadcastBounds {
  size_t transfers = 256;
  size_t bytes = 512U << 20;  // of blocks that are being written
};

class Broadcasts {
 public:
  using Done = std::function<void(protocol::BlockReply)>;
  Broadcasts(NodeState& node, ChildProcesses& children, BroadcastBounds of_user = {});
  Broadcasts(const Broadcasts&) = delete;
  Broadcasts& operator=(const Broadcasts&) = delete;
  ~Broadcasts();

  // Where jobs have a /tmp of their own, files go there.
  void use_containers(JobContainers& containers) { containers_ = &containers; }

  // A block of a checked ticket's user. One that came before is answered as then and not written
  // again.
  void write(const protocol::BroadcastTicket& ticket, const protocol::BroadcastBlock& block,
             Done done);
  // What is on its way for this job is broken off, and what it wrote so far is removed.
  void end_job(JobId job);
  // Whether the first block of it was taken: its ticket may have run out since.
  [[nodiscard]] bool is_under_way(const protocol::BroadcastTicket& ticket, uint64_t transfer) const;

 private:
  struct Transfer;
  using TransferPtr = std::shared_ptr<Transfer>;
  using Key = std::tuple<JobId, uint32_t, uint64_t>;  // job, uid, transfer
  [[nodiscard]] size_t bytes_of(uint32_t uid) const;
  TransferPtr start(const Key& key, const protocol::BroadcastTicket& ticket);
  void answered(TransferPtr transfer, const protocol::BlockReply& reply);
  void wait_idle(const TransferPtr& transfer);
  void end(TransferPtr transfer, const std::string& why);

  NodeState& node_;
  ChildProcesses& children_;
  BroadcastBounds of_user_;
  JobContainers* containers_ = nullptr;  // not owned
  std::map<Key, TransferPtr> transfers_;
};

}  // namespace sluice::noded
