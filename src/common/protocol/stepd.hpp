// Step daemons: with their agent over a Unix socket, and with srun or sattach over TCP. Both speak
// frames: 4 bytes length (big endian, of what follows), 1 byte FrameType, 4 bytes task id (big
// endian, kNoTask where none), then the body. Bodies of control frames are encoded structs; bodies
// of kStdin, kStdout and kStderr are the user's bytes (none: end of file).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/noded.hpp"

namespace sluice::protocol {

//
// Who opens which file of StepSpec::std_in, std_out and std_err: empty or "all" is the stream to
// and from srun; "none" is /dev/null; a number is the stream of that task only, /dev/null for the
// others; a pattern that differs by node or task (pattern_is_per_node) is opened by the step
// daemons; any other name is opened by srun and is a stream here, unless nobody listens (port 0).
// kStdin with task kNoTask is for every task of the node that takes input.
inline constexpr uint32_t kMaxFrameBytes = 1U << 20;  // a longer frame ends the connection

enum class FrameType : uint8_t {
  // step daemon -> srun, sattach
  kHello = 1,    // StepHello, first
  kStarted = 2,  // TasksStarted
  kStdout = 3,
  kStderr = 4,
  kExited = 5,        // protocol::TaskExit, one a task
  kNodeDone = 6,      // no more output from this node; the daemon is about to end
  kLaunchFailed = 7,  // text
  kMessage = 8,       // text for the user's stderr; none: the step is being ended
  kMpi = 9,           // MpiMessage, to srun only
  // a program of the node connected to its display; `task` numbers the connection
  kX11Opened = 10,
  kX11FromNode = 11,  // its bytes; none: it is over
  kProof = 12,        // answer to kChallenge: step/io_proof.hpp; srun hears nothing else before it
  // srun, sattach -> step daemon
  kStdin = 20,
  kWindowSize = 21,   // WindowSize
  kSignalTasks = 22,  // SignalTasks
  kChallenge = 23,    // IoChallenge, the answer to kHello
  kMpiPassed = 25,    // MpiMessage, of other daemons or of all of them together
  kX11ToNode = 26,    // bytes of the display for connection `task`; none: it is over
  // BeginTasks, from the step's own srun: tasks that wait for it begin (StepSpec::waits_for_srun)
  kBegin = 27,
  // agent -> step daemon (Unix socket)
  kAgentSignal = 40,     // SignalStepRequest
  kAgentTerminate = 41,  // TerminateStepRequest
  kAgentListPids = 42,   // empty; answered by kAgentPids
  kAgentAttach = 43,     // AttachRequest: connect to this endpoint as a further listener
  kAgentStart = 44,      // StepdStart, first
  kAgentStat = 45,       // empty; answered by kAgentStats
  // agent -> file writer (common/protocol/broadcast.hpp)
  kFileStart = 50,  // FileWriterStart, first
  kFileBlock = 51,  // BroadcastBlock; answered by kFileDone
  // step daemon -> agent
  kAgentReady = 60,  // empty: tasks run (or the launch failed and StepEnded follows)
  kAgentEnded = 61,  // StepEnded
  kAgentPids = 62,   // ListPidsReply
  kAgentLog = 63,    // text for the agent's log
  kAgentStats = 64,  // StatStepReply
  kAgentTold = 65,   // empty: a signal was sent, or an order to end was begun
  // file writer -> agent
  kFileDone = 70,  // BlockReply
};

struct StepHello {
  StepKey key;
  std::string node;
  uint32_t node_index = 0;  // position in the step's layout
  std::string nonce;        // of this connection
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &StepHello::key);
    field(3, "node", &StepHello::node);
    field(4, "node_index", &StepHello::node_index);
    field(5, "nonce", &StepHello::nonce);
  }
};
struct IoChallenge {
  std::string nonce;  // srun's
  std::string proof;  // that srun has the key
  template <class V>
  static void describe(V&& field) {
    field(1, "nonce", &IoChallenge::nonce);
    field(2, "proof", &IoChallenge::proof);
  }
};
struct TasksStarted {
  std::vector<uint32_t> tasks;
  std::vector<uint32_t> pids;
  template <class V>
  static void describe(V&& field) {
    field(1, "tasks", &TasksStarted::tasks);
    field(2, "pids", &TasksStarted::pids);
  }
};
struct WindowSize {
  uint32_t rows = 0;
  uint32_t columns = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "rows", &WindowSize::rows);
    field(2, "columns", &WindowSize::columns);
  }
};
struct BeginTasks {
  // each stops before the first instruction of its program: a debugger takes it from there
  bool stopped = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "stopped", &BeginTasks::stopped);
  }
};
struct SignalTasks {
  uint32_t signal = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "signal", &SignalTasks::signal);
  }
};
// What the MPI parts of a step's daemons tell one another, by way of srun (cli/step/mpi_hub.hpp).
enum class MpiMessageKind : uint8_t {
  kNone = 0,
  // `data` of one node; comes back to each of `nodes` with that of all, in their order
  kFence = 1,
  kRequest = 2,   // `nodes` is the one that runs `task`: it is asked for what that task published
  kReply = 3,     // the answer, `nodes` is who asked
  kTaskLost = 4,  // `task` went away without an end; comes to all other nodes
  kAbort = 5,     // `task` ends the step: `status` is the exit status for srun, 0: the tasks'
  // To srun, which keeps them while the step runs; each is answered by a kReply of its `name`,
  // status 0 when it was done:
  kPublish = 6,    // `data` is a PublishedName: nobody else may have published that name
  kLookup = 7,     // of the name `data`: the answer's data is what was published
  kUnpublish = 8,  // the name `data`
  // `task` wants a step started, `data` is an MpiSpawnRequest: the answer's data is PMI's name of
  // that step
  kSpawn = 9,
  kReady = 10,  // all tasks of a node have begun MPI; said in a step that was started so
};
// MpiMessage::status of a kLookup: to be answered when the name is there; of the answer to a
// kPublish: it is there already.
inline constexpr int32_t kWaitForName = 1;
inline constexpr int32_t kNameTaken = 2;
inline constexpr int32_t kNoSuchName = 3;

struct PublishedName {
  std::string name;
  std::string value;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &PublishedName::name);
    field(2, "value", &PublishedName::value);
  }
};
struct MpiMessage {
  MpiMessageKind kind = MpiMessageKind::kNone;
  std::string name;             // of a fence; those of one name follow one another
  std::vector<uint32_t> nodes;  // positions in the layout; none: all
  uint32_t from = 0;            // set by srun
  uint32_t task = 0;
  int32_t status = 0;  // not 0: it failed
  std::string data;
  bool more = false;  // `data` goes on in the next message
  template <class V>
  static void describe(V&& field) {
    field(1, "kind", &MpiMessage::kind);
    field(2, "name", &MpiMessage::name);
    field(3, "nodes", &MpiMessage::nodes);
    field(4, "from", &MpiMessage::from);
    field(5, "task", &MpiMessage::task);
    field(6, "status", &MpiMessage::status);
    field(7, "data", &MpiMessage::data);
    field(8, "more", &MpiMessage::more);
  }
};
// Bytes of an endpoint's address, and of its secret; longer ones are refused.
inline constexpr size_t kMostOfEndpoint = 1024;
[[nodiscard]] inline bool is_short(const IoEndpoint& io) {
  return io.host.size() <= kMostOfEndpoint && io.key.size() <= kMostOfEndpoint;
}

// sattach sends this to the agents of a step's nodes, they hand it to the step daemons.
struct AttachRequest {
  static constexpr std::string_view kMethod = "NodeAgent/Attach";
  using Reply = struct Empty;
  StepKey key;
  IoEndpoint io;
  bool with_stdin = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &AttachRequest::key);
    field(2, "io", &AttachRequest::io);
    field(3, "with_stdin", &AttachRequest::with_stdin);
  }
};

}  // namespace sluice::protocol
