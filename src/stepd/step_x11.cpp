// The step daemon's side of X11 forwarding.
#include "stepd/step_daemon.hpp"

#include "common/names/step_names.hpp"

namespace sluice::stepd {

using protocol::FrameType;

bool StepDaemon::forwards_x11() const {
  if (launch_.step == nullptr || launch_.step->io.port == 0) return false;
  const auto& hosts = launch_.allocation_nodes;
  switch (launch_.step->x11) {
    case X11Nodes::kAll: return true;
    case X11Nodes::kBatch: return !hosts.empty() && hosts.front().name == start_.node_name;
    case X11Nodes::kFirst: return start_.node_index == 0;
    case X11Nodes::kLast: return start_.node_index + 1 == launch_.layout.nodes.size();
    default: return false;
  }
}

Status StepDaemon::start_x11(StepPlan& plan) {
  if (!forwards_x11()) return {};
  x11_ = std::make_unique<X11Listener>(
      io_, X11Listener::Handlers{[this](uint32_t connection) {
                                   listeners_.send_owner(FrameType::kX11Opened, {}, connection);
                                 },
                                 [this](uint32_t connection, std::string_view bytes) {
                                   listeners_.send_owner(FrameType::kX11FromNode, bytes,
                                                         connection);
                                 },
                                 [this] { return listeners_.congested(); }});
  std::string home_file;
  if (start_.home_xauthority) {
    const std::string home = home_of(user_);
    if (home.empty())
      return failure("the user has no home folder here, and X11Parameters=home_xauthority is set");
    home_file = home + "/.Xauthority";
  }
  if (auto ok = x11_->start(user_, start_.mount_namespace, step_id_text(launch_.key.id), home_file);
      !ok)
    return ok;
  for (TaskPlan& task : plan.tasks) x11_->set_variables(task.setup.env);
  return {};
}

}  // namespace sluice::stepd
