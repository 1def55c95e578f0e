#include "ctld/rpc/submit_hosts.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include "common/base/contains.hpp"

namespace sluice::ctld {
namespace {

constexpr auto kKeep = std::chrono::minutes(10);
constexpr size_t kMostKnown = 4096;  // addresses
// names that an address may have: of its interfaces, in short and in full
constexpr size_t kMostClaims = 8;
constexpr size_t kMostOfName = 253;

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Found ask(const std::string& name, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) list = nullptr;
  return {list, &freeaddrinfo};
}

std::string text_of(const addrinfo& address, int flags) {
  char text[NI_MAXHOST];
  const int failed =
      ::getnameinfo(address.ai_addr, address.ai_addrlen, text, sizeof text, nullptr, 0, flags);
  return failed == 0 ? text : "";
}

bool is_this_host(std::string_view address) {
  return address.empty() || address.starts_with("127.") || address == "::1" ||
         address == "0.0.0.0" || address.starts_with("::ffff:127.");
}

// A dotted number has no short form.
std::string short_name(const std::string& name) {
  in_addr ignored{};
  return ::inet_pton(AF_INET, name.c_str(), &ignored) == 1 ? name : name.substr(0, name.find('.'));
}

bool is_host_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostOfName &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
         });
}

}  // namespace

HostLookup system_host_lookup() {
  return {[](const std::string& name) {
            std::vector<std::string> out;
            const Found found = ask(name, 0);
            for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next)
              out.push_back(text_of(*one, NI_NUMERICHOST));
            return out;
          },
          [](const std::string& address) {
            const Found found = ask(address, AI_NUMERICHOST);
            return found == nullptr ? std::string() : text_of(*found, NI_NAMEREQD);
          }};
}

std::string proved_address(const net::CallContext& context) {
  std::string address = context.identity.address;
  if (is_this_host(address)) {
    // munged knows no better where its host's name leads to a loopback address
    const std::string& peer = context.peer;
    const size_t colon = peer.rfind(':');
    address = colon == std::string::npos || peer.starts_with("unix:") ? std::string()
                                                                      : peer.substr(0, colon);
    if (address.starts_with('[') && address.ends_with(']'))
      address = address.substr(1, address.size() - 2);
    if (address.starts_with("::ffff:")) address.erase(0, 7);
  }
  return is_this_host(address) ? std::string() : address;
}

SubmitHosts::Known& SubmitHosts::known(const std::string& address, Clock::time_point now) {
  const auto at = known_.find(address);
  if (at != known_.end() && at->second.until > now) return at->second;
  if (known_.size() >= kMostKnown)
    known_.erase(
        std::ranges::min_element(known_, {}, [](const auto& one) { return one.second.until; }));
  Known& fresh = known_[address];
  fresh = {.name = std::nullopt, .claims = {}, .until = now + kKeep};
  return fresh;
}

// Whoever an address belongs to says what it is called, and may call it as one of the site's hosts:
// a name counts that leads back to the address.
std::string SubmitHosts::confirmed_name(const std::string& address) const {
  const std::string found = lookup_.name_of(address);
  if (found.empty()) return address;
  for (const std::string& name : {short_name(found), found}) {
    if (contains(lookup_.addresses_of(name), address)) return name;
  }
  return address;
}

std::string SubmitHosts::name_of(const net::CallContext& context, std::string_view claimed) {
  if (!context.identity.host.empty()) return short_name(context.identity.host);
  const std::string address = proved_address(context);
  if (address.empty()) return own_name_;
  std::string claim(claimed.substr(0, kMostOfName + 1));
  const auto now = Clock::now();
  bool asks = false;
  {
    const std::lock_guard lock(mutex_);
    const Known& host = known(address, now);
    const auto at = host.claims.find(claim);
    if (at != host.claims.end() && at->second) return claim;
    asks = at == host.claims.end() && host.claims.size() < kMostClaims && is_host_name(claim);
    if (!asks && host.name) return *host.name;
  }
  // not under the mutex: the resolver may be slow
  const bool fits = asks && contains(lookup_.addresses_of(claim), address);
  if (asks) {
    const std::lock_guard lock(mutex_);
    Known& host = known(address, now);
    host.claims[claim] = fits;
    if (fits) return claim;
    if (host.name) return *host.name;
  }
  std::string name = confirmed_name(address);
  const std::lock_guard lock(mutex_);
  known(address, now).name = name;
  return name;
}

}  // namespace sluice::ctld
