// What the user is told of his step by the daemon itself, as slurmstepd writes it to his standard
// error: to the file that it is, or to those who listen.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/protocol/stepd.hpp"
#include "stepd/io/audience.hpp"
#include "stepd/io/output_sinks.hpp"
#include "stepd/step_facts.hpp"

namespace sluice::stepd {

class UserMessages {
 public:
  UserMessages(const StepFacts& facts, OutputSinks& sinks, Audience& audience)
      : facts_(facts), sinks_(sinks), audience_(audience) {}

  // The user's standard error, where it is a file; -1: none. Stays the caller's.
  void use_file(int fd) { file_ = fd; }
  // There are tasks, and the node's first one is that.
  void speak_for(uint32_t first_rank) { first_rank_ = first_rank; }

  // Words of an order. An end is told by one node only, and again only with a reason; an empty
  // kMessage tells srun of it alone.
  void tell(std::string_view message, protocol::FrameType type = protocol::FrameType::kMessage);
  // On the standard error of the node's first task: a step's --label names that one. As kStderr it
  // is no news to srun where that is a file.
  void write(const std::string& text, protocol::FrameType type = protocol::FrameType::kMessage);
  // Output of the tasks could not be written, with the errno. Told once.
  void tell_of_lost_output(int error);

 private:
  const StepFacts& facts_;
  OutputSinks& sinks_;
  Audience& audience_;
  int file_ = -1;
  std::optional<uint32_t> first_rank_;
  bool told_of_end_ = false;
  bool told_of_loss_ = false;
};

}  // namespace sluice::stepd
