// Every process of the step: below this one, and in its control group.
#pragma once

#include <vector>

#include <sys/types.h>

namespace sluice::stepd {

class StepGroup;

class StepProcesses {
 public:
  virtual ~StepProcesses() = default;
  [[nodiscard]] virtual std::vector<pid_t> members() const = 0;
  // One of them at least has not ended.
  [[nodiscard]] virtual bool any_lives() const { return !members().empty(); }
  virtual void signal(int signal) const = 0;
  // SIGSTOP and SIGCONT. Between them no other SIGCONT lets them go on, where there is a control
  // group: it is frozen.
  virtual void suspend() const = 0;
  virtual void resume() const = 0;
  // What was frozen is only stopped then; SIGKILL ends it.
  virtual void thaw() const = 0;
  // SIGKILL; who is born meanwhile may be missed: it is repeated until nothing is left.
  virtual void kill() const = 0;
  // One of them has a handler for SIGTERM.
  [[nodiscard]] virtual bool any_catches_term() const = 0;
};

class LiveProcesses final : public StepProcesses {
 public:
  explicit LiveProcesses(const StepGroup& group) : group_(group) {}
  [[nodiscard]] std::vector<pid_t> members() const override;
  [[nodiscard]] bool any_lives() const override;
  void signal(int signal) const override;
  void suspend() const override;
  void resume() const override;
  void thaw() const override;
  void kill() const override;
  [[nodiscard]] bool any_catches_term() const override;

 private:
  const StepGroup& group_;
};

}  // namespace sluice::stepd
