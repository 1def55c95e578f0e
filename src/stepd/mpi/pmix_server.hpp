// --mpi=pmix: a PMIx server in the step daemon. libpmix talks to the tasks on a thread of its own;
// what it cannot answer for other nodes comes here, on the daemon's event loop, and goes to them
// through srun.
#pragma once

#include <deque>
#include <map>
#include <string>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "stepd/mpi/library_words.hpp"
#include "stepd/mpi/mpi_server.hpp"
#include "stepd/mpi/pmix_library.hpp"
#include "stepd/mpi/pmix_names.hpp"

namespace sluice::stepd {

class PmixServer : public MpiServer {
 public:
  PmixServer(const PlanInput& input, MpiHost host);
  ~PmixServer() override;

  Status prepare(StepPlan& plan) override;
  void received(const protocol::MpiMessage& message) override;
  void alone() override;
  void stop() override;

  // The one of this process, which libpmix's calls are for; null before it starts and when it is
  // over.
  [[nodiscard]] static PmixServer* current();
  // Runs `work` on the event loop, where the server lives. Any thread.
  template <class Work>
  static void hand_over(Work work) {
    if (PmixServer* server = current()) {
      boost::asio::post(server->io(), [work = std::move(work)]() mutable {
        if (PmixServer* still = current()) work(*still);
      });
    }
  }

  // Who waits for what the nodes put together, or for another task's data.
  using Waiter = std::function<void(pmix_status_t, const std::string& data)>;
  // From libpmix, brought over to the event loop.
  [[nodiscard]] boost::asio::io_context& io() { return host_.io; }
  [[nodiscard]] const std::string& name() const { return namespace_; }
  [[nodiscard]] const PmixLibrary& library() const { return library_; }
  [[nodiscard]] PmixNames& names() { return names_; }
  [[nodiscard]] uint32_t node_index() const { return input_.whole_index(); }
  [[nodiscard]] uint32_t num_nodes() const;
  // `ranks` take part, none: all. What is for another purpose than a fence has a name of its own
  // before it.
  void fence(std::vector<pmix_rank_t> ranks, std::string data, Waiter waiter,
             const std::string& purpose = {});
  void ask_for(pmix_rank_t rank, Waiter waiter);
  void answer(uint32_t node, const std::string& question, pmix_status_t status, std::string data);
  void aborted(pmix_rank_t rank, int status);
  void lost(pmix_rank_t rank);

 private:
  Status listen_to_library();  // PMIxDebug
  Status make_folder();
  Status give_folder();
  Status start_library();
  Status register_job();
  Status set_up(TaskPlan& task);
  [[nodiscard]] tl::unexpected<Error> failed(std::string_view what, pmix_status_t status) const;
  [[nodiscard]] pmix_proc_t process(pmix_rank_t rank) const;
  [[nodiscard]] std::optional<uint32_t> node_of(pmix_rank_t rank) const;
  void serve_request(const protocol::MpiMessage& message);
  void notify_lost(pmix_rank_t rank);

  const PlanInput& input_;
  MpiHost host_;
  std::string namespace_;
  std::string folder_;  // of this step; its files go with it
  PmixLibrary library_;
  std::shared_ptr<LibraryWords> words_;  // with PMIxDebug
  bool running_ = false;
  bool alone_ = false;
  bool ending_ = false;  // a task ended the step: no wonder that others go
  std::map<std::string, std::deque<Waiter>> fences_;  // by name, the oldest first
  struct Question {
    Waiter waiter;
    std::unique_ptr<boost::asio::steady_timer> timer;  // PMIxTimeout
  };
  void finish(const std::string& question, pmix_status_t status, const std::string& data);

  std::map<std::string, Question> questions_;
  uint64_t last_question_ = 0;
  PmixNames names_{host_, namespace_};
};

}  // namespace sluice::stepd
