// Every request that controller and agent answer, made against a job of Alice's, and who may make
// it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "system/wire/cluster.hpp"
#include "system/wire/mutate.hpp"

namespace sluice::testing {

// What a user who is neither the job's owner nor an administrator gets.
enum class Stranger {
  kDenied,  // Access/permission denied
  kHidden,  // with PrivateData=jobs: the job is not there
  // an answer that changes nothing of others, and with PrivateData=jobs tells nothing of their jobs
  kHarmless,
};

struct Row {
  Server server = Server::kController;
  std::string method;
  // With a mutator, the request's fields changed with the given chance.
  std::function<std::string(JobId, Mutator*, double)> request;
  Stranger stranger = Stranger::kDenied;
  ErrorCode refusal = ErrorCode::kAccessDenied;  // of kDenied
  uint32_t allowed = 0;                          // a user who may
  bool anyone = false;                           // even without a token
  bool ends = false;                             // of the server, when allowed
};

[[nodiscard]] const std::vector<Row>& all_rows();

}  // namespace sluice::testing
