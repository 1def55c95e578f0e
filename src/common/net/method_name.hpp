// The name a request travels under: its struct's name without namespaces and "Request".
#pragma once

#include <string_view>

namespace sluice::net {

template <class Request>
constexpr std::string_view method_name() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("Request = ") + 10);
  name = name.substr(0, name.find_first_of(";]"));
  if (const size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    name.remove_prefix(colon + 1);
  }
  return name.substr(0, name.rfind("Request"));
}

}  // namespace sluice::net
