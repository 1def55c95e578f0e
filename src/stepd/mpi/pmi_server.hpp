// --mpi=pmi2: PMI-1 and PMI-2 for the tasks of this node, each over a socket of its own.
#pragma once

#include <memory>
#include <vector>

#include <boost/asio/local/stream_protocol.hpp>

#include "common/step/send_queue.hpp"
#include "stepd/mpi/mpi_server.hpp"
#include "stepd/mpi/pmi_node.hpp"

namespace sluice::stepd {

class PmiServer : public MpiServer {
 public:
  PmiServer(const PlanInput& input, MpiHost host);

  Status prepare(StepPlan& plan) override;
  void received(const protocol::MpiMessage& message) override;
  void alone() override { node_.alone(); }
  void stop() override;

 private:
  struct Task : std::enable_shared_from_this<Task> {
    explicit Task(boost::asio::io_context& io) : socket(io) {}
    boost::asio::local::stream_protocol::socket socket;
    PmiReader reader;
    SendQueue queue;
    bool writing = false;
    bool reading = false;
  };
  void read(uint32_t local);
  void write(uint32_t local);
  void readable(uint32_t local);
  [[nodiscard]] bool obey(uint32_t local);  // what has come; false: it makes no sense

  const PlanInput& input_;
  MpiHost host_;
  PmiNode node_;
  std::vector<std::shared_ptr<Task>> tasks_;
};

}  // namespace sluice::stepd
