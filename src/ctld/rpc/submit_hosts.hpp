// The host that a job is submitted from, as far as it is proved: AllocNodes and PAM_RHOST depend on
// it. What the command says itself is taken only where it fits.
//
// Proof is, in this order: the host in a token of auth/slurm, which only who has the cluster's key
// can make; the address in a munge credential, which the munged of that host put there; the address
// that the connection comes from.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/rpc/call_context.hpp"

namespace sluice::ctld {

// The host's resolver; both give nothing for what it does not know.
struct HostLookup {
  std::function<std::vector<std::string>(const std::string& name)> addresses_of;
  std::function<std::string(const std::string& address)> name_of;
};
[[nodiscard]] HostLookup system_host_lookup();

class SubmitHosts {
 public:
  using Clock = std::chrono::steady_clock;
  explicit SubmitHosts(std::string own_name, HostLookup lookup = system_host_lookup())
      : own_name_(std::move(own_name)), lookup_(std::move(lookup)) {}

  // The short name of the host: `claimed`, where one of its addresses is the proved one; else what
  // that address is called; an address without a name as it is. Any thread. The resolver is asked
  // once in a while for each address, and for a few claims of it; who claims more names is called
  // what the address is called.
  [[nodiscard]] std::string name_of(const net::CallContext& context, std::string_view claimed);

 private:
  // The short name of a host where it leads back to the address, else the full one where that does,
  // else the address.
  [[nodiscard]] std::string confirmed_name(const std::string& address) const;
  struct Known {
    std::optional<std::string> name;     // what the address is called; not set: nobody asked yet
    std::map<std::string, bool> claims;  // whether the address is one of that name's
    Clock::time_point until;
  };
  // What is known of the address, made anew when it is old; with the mutex.
  [[nodiscard]] Known& known(const std::string& address, Clock::time_point now);

  std::string own_name_;
  HostLookup lookup_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by address; guarded by mutex_
};

// The address that a request comes from: of its credential, else of its connection
// ("10.0.0.1:4242", "[::1]:4242"); empty: this host.
[[nodiscard]] std::string proved_address(const net::CallContext& context);

}  // namespace sluice::ctld
