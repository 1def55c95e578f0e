// sbcast and srun --bcast: files for the nodes of a job.
//
// The command gets a ticket from the controller, then gives one block after another to a node's
// agent, which passes each on to all nodes of the ticket. Every agent checks the ticket itself; a
// process that is the user (never the agent) writes the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/ctld.hpp"

namespace sluice::protocol {

inline constexpr StepNumber kWholeJob = UINT32_MAX;
// A ticket begins transfers for so long; what has begun may end later.
inline constexpr Duration kTicketLifetime = std::chrono::minutes(10);
inline constexpr uint32_t kMaxBlockBytes = 32U << 20;

// Who may write where: signed by the controller.
struct BroadcastTicket {
  std::string cluster_id;
  JobId job = kNoJob;
  uint32_t restart = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // supplementary; empty: looked up on the node
  std::string user_name;
  std::vector<NodeAddress> nodes;
  Time issued = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &BroadcastTicket::cluster_id);
    field(2, "job", &BroadcastTicket::job);
    field(3, "restart", &BroadcastTicket::restart);
    field(4, "uid", &BroadcastTicket::uid);
    field(5, "gid", &BroadcastTicket::gid);
    field(6, "groups", &BroadcastTicket::groups);
    field(7, "user_name", &BroadcastTicket::user_name);
    field(8, "nodes", &BroadcastTicket::nodes);
    field(9, "issued", &BroadcastTicket::issued);
  }
};

// What is signed: no other message of the controller begins so.
[[nodiscard]] inline std::string signed_ticket(const std::string& ticket) {
  return "sluice broadcast ticket\n" + ticket;
}

// To the controller. Only for the job's user and administrators; the file is the job's user's.
// kInvalidJobId (also for a step), kJobPending, kAlreadyDone, kAccessDenied.
struct BroadcastTicketRequest {
  static constexpr std::string_view kMethod = "Controller/BroadcastTicket";
  using Reply = struct BroadcastTicketReply;
  JobId job = kNoJob;
  StepNumber step = kWholeJob;  // its nodes only
  // with kNoJob: these nodes, without a job; the file is the caller's. Administrators only
  std::string node_list;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &BroadcastTicketRequest::job);
    field(2, "step", &BroadcastTicketRequest::step);
    field(380, "node_list", &BroadcastTicketRequest::node_list);
  }
};
struct BroadcastTicketReply {
  std::string ticket;     // encoded BroadcastTicket
  std::string signature;  // ed25519 of `ticket` by the controller
  std::string node_list;  // folded
  template <class V>
  static void describe(V&& field) {
    field(1, "ticket", &BroadcastTicketReply::ticket);
    field(2, "signature", &BroadcastTicketReply::signature);
    field(3, "node_list", &BroadcastTicketReply::node_list);
  }
};

enum class BlockAction : uint8_t {
  kWrite = 0,   // one block of a file
  kFolder = 1,  // makes a folder; one of the user's own may be there
  kRemove = 2,  // the file, and the folder of its libraries
  kAbort = 3,   // another node could not write it: what is there of it goes
};
enum class Compression : uint8_t { kNone = 0, kLz4 = 2 };

// One block of one file; blocks of a transfer come in order, and one may come twice.
struct BroadcastBlock {
  uint64_t transfer = 0;  // a random number that tells transfers apart
  BlockAction action = BlockAction::kWrite;
  std::string path;       // absolute
  bool per_node = false;  // "_" and the node's name are added to it: see tables/broadcast_names.hpp
  std::string suffix;     // and then this
  uint32_t number = 1;    // of the block
  bool last = true;
  bool force = false;     // what is there is replaced
  bool preserve = false;  // mode and times are the source's
  uint32_t mode = 0600;
  int64_t access_ns = 0;  // since 1970
  int64_t change_ns = 0;
  Compression compression = Compression::kNone;
  uint32_t raw_bytes = 0;  // of `data`, not compressed
  std::string data;
  template <class V>
  static void describe(V&& field) {
    field(1, "transfer", &BroadcastBlock::transfer);
    field(2, "action", &BroadcastBlock::action);
    field(3, "path", &BroadcastBlock::path);
    field(4, "per_node", &BroadcastBlock::per_node);
    field(5, "number", &BroadcastBlock::number);
    field(6, "last", &BroadcastBlock::last);
    field(7, "force", &BroadcastBlock::force);
    field(8, "preserve", &BroadcastBlock::preserve);
    field(9, "mode", &BroadcastBlock::mode);
    field(10, "access_ns", &BroadcastBlock::access_ns);
    field(11, "change_ns", &BroadcastBlock::change_ns);
    field(12, "compression", &BroadcastBlock::compression);
    field(13, "raw_bytes", &BroadcastBlock::raw_bytes);
    field(14, "data", &BroadcastBlock::data);
    field(15, "suffix", &BroadcastBlock::suffix);
  }
};

// From a command to any one agent of the ticket's nodes.
struct SendBlockRequest {
  static constexpr std::string_view kMethod = "NodeAgent/SendBlock";
  using Reply = struct SendBlockReply;
  std::string ticket;
  std::string signature;
  BroadcastBlock block;
  uint32_t tree_width = 0;        // 0: TreeWidth
  std::vector<std::string> only;  // of the ticket's nodes; empty: all
  Duration timeout{0};            // for one level of the tree; 0: MessageTimeout
  template <class V>
  static void describe(V&& field) {
    field(1, "ticket", &SendBlockRequest::ticket);
    field(2, "signature", &SendBlockRequest::signature);
    field(3, "block", &SendBlockRequest::block);
    field(4, "tree_width", &SendBlockRequest::tree_width);
    field(5, "only", &SendBlockRequest::only);
    field(6, "timeout", &SendBlockRequest::timeout);
  }
};
struct BlockFailure {
  std::string node;
  int32_t error = 0;  // errno; 0: `text` says what
  std::string text;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &BlockFailure::node);
    field(2, "error", &BlockFailure::error);
    field(3, "text", &BlockFailure::text);
  }
};
struct SendBlockReply {
  std::vector<BlockFailure> failed;
  template <class V>
  static void describe(V&& field) {
    field(1, "failed", &SendBlockReply::failed);
  }
};

// From agent to agent in the tree.
struct WriteBlockRequest {
  static constexpr std::string_view kMethod = "NodeAgent/WriteBlock";
  using Reply = struct BlockReply;
  std::string ticket;
  std::string signature;
  BroadcastBlock block;
  template <class V>
  static void describe(V&& field) {
    field(1, "ticket", &WriteBlockRequest::ticket);
    field(2, "signature", &WriteBlockRequest::signature);
    field(3, "block", &WriteBlockRequest::block);
  }
};
struct BlockReply {
  int32_t error = 0;  // errno
  std::string text;   // where errno does not say it
  template <class V>
  static void describe(V&& field) {
    field(1, "error", &BlockReply::error);
    field(2, "text", &BlockReply::text);
  }
};

// To the process that writes: `slurmstepd --write-file` with its socket on kStartDescriptor.
inline constexpr const char* kWriteFileMode = "--write-file";
struct FileWriterStart {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  std::string user_name;
  std::string node_name;
  std::string mount_namespace;  // as in StepdStart
  template <class V>
  static void describe(V&& field) {
    field(1, "uid", &FileWriterStart::uid);
    field(2, "gid", &FileWriterStart::gid);
    field(3, "groups", &FileWriterStart::groups);
    field(4, "user_name", &FileWriterStart::user_name);
    field(5, "node_name", &FileWriterStart::node_name);
    field(6, "mount_namespace", &FileWriterStart::mount_namespace);
  }
};

}  // namespace sluice::protocol
