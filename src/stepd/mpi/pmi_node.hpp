// PMI-1 and PMI-2 for the tasks of one node: what a request means and what is answered. Key-values
// that tasks put are seen on other nodes after the next fence (a barrier, in PMI-1). Pure: it knows
// no sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/describe.hpp"
#include "common/protocol/mpi_spawn.hpp"
#include "common/protocol/stepd.hpp"
#include "stepd/mpi/pmi_spawn.hpp"
#include "stepd/mpi/pmi_wire.hpp"

namespace sluice::stepd {

struct PmiPair {
  std::string key;
  std::string value;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &PmiPair::key);
    field(2, "value", &PmiPair::value);
  }
};
// What a node puts into a fence. Encoded ones in a row are one with all of their pairs.
struct PmiPairs {
  std::vector<PmiPair> pairs;
  template <class V>
  static void describe(V&& field) {
    field(1, "pairs", &PmiPairs::pairs);
  }
};

struct PmiJob {
  std::string id;  // "12.0"; the name of the key-value space, too
  uint32_t num_tasks = 0;
  std::vector<uint32_t> ranks;                    // of this node, in local order
  std::string process_mapping;                    // empty: not told
  std::optional<protocol::MpiSpawned> spawned{};  // a task of another step asked for this one
};

// With its end. A line of PMI-1 has to fit into the 1024 bytes of its clients, with names and key.
inline constexpr size_t kMaxPmiValue = 850;
// The memory is that of a daemon that is not the user's.
inline constexpr size_t kMaxPmiSpace = 16U << 20;  // bytes that the tasks of a node may put
inline constexpr size_t kMaxPmiAll = 512U << 20;   // and those of all nodes
inline constexpr size_t kPmiPairBytes = 128;       // that a pair costs beside its texts
// bytes of requests that wait for an answer of others
inline constexpr size_t kMaxPmiWaiting = 16U << 20;

class PmiNode {
 public:
  struct Handlers {
    std::function<void(uint32_t local, const std::string& bytes)> send;  // to the task
    std::function<void(const PmiPairs&)> fence;  // all tasks of this node are in it
    std::function<void(uint32_t rank)> abort;    // it ends the step
    // To srun, which answers by name_answer(); `value` is of a kPublish.
    std::function<void(const std::string& question, protocol::MpiMessageKind,
                       const protocol::PublishedName&)>
        name{};
    // To srun, which answers by spawn_answer().
    std::function<void(const std::string& question, uint32_t rank,
                       const protocol::MpiSpawnRequest&)>
        spawn{};
    // all tasks of this node have begun, in a step that another one's task asked for
    std::function<void()> ready{};
  };
  PmiNode(PmiJob job, Handlers handlers);

  void received(uint32_t local, const PmiMessage& message);
  // The fence is over; `pairs` are those of all nodes, empty when it failed.
  void fence_done(bool good, const PmiPairs& pairs);
  // What srun says of a question about a published name.
  void name_answer(const std::string& question, bool good, const std::string& value);
  // What srun says of a step that it was to start: PMI's name of it. False when this is no such
  // question.
  bool spawn_answer(const std::string& question, bool good, const std::string& job);
  // Nothing comes from other nodes any more: fences fail from now on.
  void alone();
  [[nodiscard]] bool is_spawned() const { return job_.spawned.has_value(); }
  // What this task speaks.
  [[nodiscard]] PmiVersion version(uint32_t local) const { return tasks_[local].version; }

 private:
  struct Task {
    PmiVersion version = PmiVersion::kOne;
    bool in_fence = false;
    std::string fence_thread;  // what PMI-2 wants back with the answer
    bool began = false;
    PmiSpawnReader spawning;  // commands of PMI-1 that have come
  };
  using Answer = void (PmiNode::*)(uint32_t, const PmiMessage&);
  struct Command {
    PmiVersion version;
    std::string_view name;
    Answer answer;
  };
  static const Command kCommands[];

  void reply(uint32_t local, const PmiMessage& message);
  // The answer "NAME-response" of PMI-2, begun.
  [[nodiscard]] static PmiMessage response(const PmiMessage& to);
  void reply_found(uint32_t local, const PmiMessage& to, const std::string* value);

  void init(uint32_t local, const PmiMessage& message);
  void maxes(uint32_t local, const PmiMessage& message);
  void app_number(uint32_t local, const PmiMessage& message);
  void universe_size(uint32_t local, const PmiMessage& message);
  void space_name(uint32_t local, const PmiMessage& message);
  void put_one(uint32_t local, const PmiMessage& message);
  void get_one(uint32_t local, const PmiMessage& message);
  void get_by_index(uint32_t local, const PmiMessage& message);
  void barrier(uint32_t local, const PmiMessage& message);
  void finalize_one(uint32_t local, const PmiMessage& message);
  void abort(uint32_t local, const PmiMessage& message);
  void full_init(uint32_t local, const PmiMessage& message);
  void job_id(uint32_t local, const PmiMessage& message);
  void put_two(uint32_t local, const PmiMessage& message);
  void get_two(uint32_t local, const PmiMessage& message);
  void node_get(uint32_t local, const PmiMessage& message);
  void node_put(uint32_t local, const PmiMessage& message);
  void job_attribute(uint32_t local, const PmiMessage& message);
  void finalize_two(uint32_t local, const PmiMessage& message);
  void ask_for_name(uint32_t local, const PmiMessage& message);
  void spawn_one(uint32_t local, const PmiMessage& message);
  void spawn_two(uint32_t local, const PmiMessage& message);
  void ask_for_spawn(uint32_t local, const PmiMessage& message,
                     const protocol::MpiSpawnRequest& request);
  void refuse_spawn(uint32_t local, const PmiMessage& message, std::string_view why);
  void unsupported(uint32_t local, const PmiMessage& message);

  [[nodiscard]] std::string app_number_of(uint32_t local) const;
  // Whether there is room to keep this request until it can be answered, which is taken.
  [[nodiscard]] bool may_wait(const PmiMessage& message);
  void waits_no_more(const PmiMessage& message);
  [[nodiscard]] bool has_room(std::string_view key, std::string_view value);
  [[nodiscard]] bool put(std::string_view key, std::string_view value);
  void keep(const std::string& key, std::string_view value);
  [[nodiscard]] const std::string* find(std::string_view key) const;
  void enter_fence(uint32_t local);

  PmiJob job_;
  Handlers handlers_;
  std::vector<Task> tasks_;
  using Space = std::map<std::string, std::string, std::less<>>;
  Space space_;
  std::vector<Space::const_iterator> in_order_;  // of space_, as they came: none ever goes
  std::map<std::string, std::string, std::less<>> node_space_;
  std::map<std::string, std::string, std::less<>> attributes_;  // of the job
  // node_get()s for what is not there yet, by their keys
  std::map<std::string, std::vector<std::pair<uint32_t, PmiMessage>>, std::less<>> waiting_;
  std::map<std::string, std::pair<uint32_t, PmiMessage>> questions_;  // about published names
  struct Spawn {
    uint32_t local = 0;
    PmiMessage request;  // the last one of PMI-1
    uint32_t tasks = 0;
  };
  std::map<std::string, Spawn> spawns_;  // that are being started
  uint64_t last_question_ = 0;
  size_t began_ = 0;  // tasks
  PmiPairs fresh_;    // put since the last fence
  size_t in_fence_ = 0;
  size_t put_bytes_ = 0;      // here
  size_t shared_bytes_ = 0;   // by others
  size_t waiting_bytes_ = 0;  // in waiting_, questions_ and spawns_
  bool alone_ = false;
};

}  // namespace sluice::stepd
