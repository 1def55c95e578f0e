#include "stepd/x11/x11_forwarding.hpp"

#include "common/names/step_names.hpp"

namespace sluice::stepd {

using protocol::FrameType;

Status X11Forwarding::start(StepPlan& plan) {
  if (!facts_.forwards_x11()) return {};
  listener_ = std::make_unique<X11Listener>(
      io_, X11Listener::Handlers{[this](uint32_t connection) {
                                   audience_.send_owner(FrameType::kX11Opened, connection, {});
                                 },
                                 [this](uint32_t connection, std::string_view bytes) {
                                   audience_.send_owner(FrameType::kX11FromNode, connection, bytes);
                                 },
                                 [this] { return audience_.congested(); }});
  std::string home_file;
  if (facts_.start.home_xauthority) {
    const std::string home = home_of(facts_.user);
    if (home.empty())
      return failure("the user has no home folder here, and X11Parameters=home_xauthority is set");
    home_file = home + "/.Xauthority";
  }
  const Status started = listener_->start(facts_.user, facts_.start.mount_namespace,
                                          step_id_text(facts_.launch.key.id), home_file);
  if (!started) return started;
  for (TaskPlan& task : plan.tasks) listener_->set_variables(task.setup.env);
  return {};
}

void X11Forwarding::received(uint32_t connection, std::string_view bytes) {
  if (listener_) listener_->send(connection, bytes);
}

void X11Forwarding::resume() {
  if (listener_) listener_->resume();
}

void X11Forwarding::stop() {
  if (listener_) listener_->stop();
}

}  // namespace sluice::stepd
