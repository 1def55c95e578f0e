// The certificates of a cluster without a CA of its site: `slurmctld --make-certificates`, or the
// first start with TLSType=tls/s2n where none is named. The CA's key stays in StateSaveLocation;
// the CA's certificate and the pair of the nodes go to each node.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// Makes the CA where there is none, and signs new certificates for the controller and the nodes,
// over those that are there: one pair for all nodes, or, where %n or %h is in slurmd_cert_file, one
// for each. Gives the files that it wrote. Errors: kInvalidConfig for a CA whose key is not here,
// kPathMissing for what cannot be written.
[[nodiscard]] Result<std::vector<std::string>> make_certificates(const ClusterConfig& config,
                                                                 Time now);

// The same where TLSParameters names no file and none of those it would name is there; else it
// changes nothing.
[[nodiscard]] Result<std::vector<std::string>> make_first_certificates(const ClusterConfig& config,
                                                                       Time now);

}  // namespace sluice::ctld
