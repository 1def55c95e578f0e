// Where the MPI parts of a step's daemons meet: srun. Gathers what each node puts into a fence and
// gives all of it to all of them; passes questions and answers on; keeps the names that tasks
// publish, and hands on what they want started. Knows no sockets.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/stepd.hpp"

namespace sluice::cli {

class MpiHub {
 public:
  struct Handlers {
    std::function<void(size_t node, const protocol::MpiMessage&)> send;
    std::function<void(const protocol::MpiMessage&)> on_abort;  // a task wants the step to end
    // it wants another one; spawned() answers
    std::function<void(const protocol::MpiMessage&)> on_spawn{};
    std::function<void()> on_ready{};  // all tasks have begun MPI, in a step that was spawned
  };
  MpiHub(size_t nodes, Handlers handlers) : gone_(nodes), handlers_(std::move(handlers)) {}

  void received(size_t node, protocol::MpiMessage message);
  // PMI's name of the step that was started; empty: it was not.
  void spawned(const protocol::MpiMessage& question, const std::string& step);
  // Nothing more comes from this node: fences that wait for it fail, and so do questions.
  void node_gone(size_t node);

 private:
  struct Round {  // one fence
    std::vector<uint32_t> nodes;
    std::vector<std::optional<std::string>> data;  // of each of `nodes`, once it is there
    int32_t status = 0;
  };
  void fence(protocol::MpiMessage message);
  [[nodiscard]] bool complete(const Round& round) const;
  void finish_rounds(const std::string& name);
  void pass_on(protocol::MpiMessage message);
  void publish(const protocol::MpiMessage& message);
  void look_up(protocol::MpiMessage message);
  void unpublish(const protocol::MpiMessage& message);
  void answer(const protocol::MpiMessage& question, int32_t status, std::string data = {});

  std::vector<bool> gone_;
  std::set<uint32_t> ready_;  // nodes
  Handlers handlers_;
  std::map<std::string, std::deque<Round>> fences_;
  std::map<std::string, std::string> names_;  // published
  size_t name_bytes_ = 0;                     // of names_
  // look-ups of names that are not there yet
  std::map<std::string, std::vector<protocol::MpiMessage>> waiting_;
};

}  // namespace sluice::cli
