// Where the agent of a node is.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/describe.hpp"

namespace sluice::protocol {

struct NodeAddress {
  std::string name;
  std::string host;
  uint32_t port = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &NodeAddress::name);
    field(2, "host", &NodeAddress::host);
    field(3, "port", &NodeAddress::port);
  }
};

}  // namespace sluice::protocol
