// PMI-1 and PMI-2 for the tasks of one node: what a request means and what is answered. Key-values
// that tasks put are seen on other nodes after the next fence (a barrier, in PMI-1). Pure: it knows
// no sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/describe.hpp"
#include "common/protocol/stepd.hpp"
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
  std::vector<uint32_t> ranks;  // of this node, in local order
  std::string process_mapping;  // empty: not told
};

inline constexpr size_t kMaxPmiSpace = 16U << 20;  // bytes that the tasks of a node may put
inline constexpr size_t kMaxPmiWaiting = 64U << 10;  // requests that wait for a node's attribute

class PmiNode {
 public:
  struct Handlers {
    std::function<void(uint32_t local, const std::string& bytes)> send;  // to the task
    std::function<void(const PmiPairs&)> fence;  // all tasks of this node are in it
    std::function<void(uint32_t rank)> abort;    // it ends the step
    // To srun, which answers by name_answer(); `value` is of a kPublish.
    std::function<void(const std::string& question, protocol::MpiMessageKind, const protocol::PublishedName&)> name{};
    std::function<void(const std::string& text)> tell_user{};
  };
  PmiNode(PmiJob job, Handlers handlers);

  void received(uint32_t local, const PmiMessage& message);
  // The fence is over; `pairs` are those of all nodes, empty when it failed.
  void fence_done(bool good, const PmiPairs& pairs);
  // What srun says of a question about a published name.
  void name_answer(const std::string& question, bool good, const std::string& value);
  // Nothing comes from other nodes any more: fences fail from now on.
  void alone();
  // What this task speaks.
  [[nodiscard]] PmiVersion version(uint32_t local) const { return tasks_[local].version; }

 private:
  struct Task {
    PmiVersion version = PmiVersion::kOne;
    bool in_fence = false;
    std::string fence_thread;  // what PMI-2 wants back with the answer
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
  void spawn(uint32_t local, const PmiMessage& message);
  void unsupported(uint32_t local, const PmiMessage& message);


  [[nodiscard]] bool put(std::string_view key, std::string_view value);
  [[nodiscard]] const std::string* find(std::string_view key) const;
  void enter_fence(uint32_t local);

  PmiJob job_;
  Handlers handlers_;
  std::vector<Task> tasks_;
  std::map<std::string, std::string, std::less<>> space_;
  std::map<std::string, std::string, std::less<>> node_space_;
  std::map<std::string, std::string, std::less<>> attributes_;  // of the job
  std::vector<std::pair<uint32_t, PmiMessage>> waiting_;        // node_get()s for what is not there yet
  std::map<std::string, std::pair<uint32_t, PmiMessage>> questions_;  // about published names
  uint64_t last_question_ = 0;
  PmiPairs fresh_;                                              // put since the last fence
  size_t in_fence_ = 0;
  size_t put_bytes_ = 0;
  bool alone_ = false;
};

}  // namespace sluice::stepd
