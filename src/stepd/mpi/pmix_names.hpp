// What tasks publish by PMIx and look up, on whatever node: srun keeps it while the step runs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "stepd/mpi/mpi_server.hpp"
#include "stepd/mpi/pmix_library.hpp"

namespace sluice::stepd {

// A value as libpmix packs it, with who published it; empty when it cannot be packed.
[[nodiscard]] std::string pack_published(const PmixLibrary& library, pmix_rank_t rank,
                                         const pmix_value_t& value);

class PmixNames {
 public:
  PmixNames(MpiHost& host, std::string job_namespace)
      : host_(host), namespace_(std::move(job_namespace)) {}

  struct Wish {
    bool wait = false;       // until all of it was published
    uint32_t timeout_s = 0;  // 0: none
  };
  // Each is answered once, from the event loop.
  void publish(const std::vector<protocol::PublishedName>& names, pmix_op_cbfunc_t done,
               void* context);
  void unpublish(const std::vector<std::string>& keys, pmix_op_cbfunc_t done, void* context);
  void look_up(const PmixLibrary& library, const std::vector<std::string>& keys, const Wish& wish,
               pmix_lookup_cbfunc_t done, void* context);

  // False when it is no answer to a question from here.
  bool answered(const protocol::MpiMessage& message);
  void alone();  // nothing is answered any more

 private:
  struct Request {
    explicit Request(boost::asio::io_context& io) : timer(io) {}
    size_t left = 0;                             // answers to come
    pmix_status_t status = PMIX_SUCCESS;         // when all are there
    std::vector<protocol::PublishedName> found;  // of a look-up
    std::function<void(Request&)> done;          // empty when it was called
    boost::asio::steady_timer timer;
  };
  using RequestPtr = std::shared_ptr<Request>;
  struct Question {
    RequestPtr request;
    std::string key;
    bool look_up = false;
  };
  void ask(const RequestPtr& request, protocol::MpiMessage message, std::string key);
  static void finish(Request& request);

  MpiHost& host_;
  const std::string namespace_;
  std::map<std::string, Question> questions_;
  uint64_t last_question_ = 0;
  bool alone_ = false;
};

}  // namespace sluice::stepd
