#include "common/net/srv_records.hpp"

#include <algorithm>
#include <netdb.h>

#include <fmt/format.h>
// they need each other in this order
#include <netinet/in.h>
#include <arpa/nameser.h>
#include <resolv.h>

#include "common/auth/crypto.hpp"

namespace sluice::net {
namespace {

constexpr const char* kService = "_slurmctld._tcp";
constexpr int kWaitSeconds = 2;  // for each server, once: somebody waits for the command

// Without a host the record says that there is none.
bool is_host(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, fits);
}

// Reads a message of the DNS from front to end; once it has failed, it gives zeros.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : message_(message) {}
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] size_t place() const { return at_; }
  void skip(size_t count) {
    good_ = good_ && count <= message_.size() - at_;
    if (good_) at_ += count;
  }
  uint16_t number() {
    const size_t from = at_;
    skip(2);
    if (!good_) return 0;
    return static_cast<uint16_t>(static_cast<uint8_t>(message_[from]) << 8 |
                                 static_cast<uint8_t>(message_[from + 1]));
  }
  std::string name() {
    char text[NS_MAXDNAME];
    const auto* const bytes = reinterpret_cast<const unsigned char*>(message_.data());
    const int length =
        good_ ? dn_expand(bytes, bytes + message_.size(), bytes + at_, text, sizeof text) : -1;
    good_ = length >= 0;
    if (!good_) return {};
    skip(static_cast<size_t>(length));
    return text;
  }

 private:
  std::string_view message_;
  size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::vector<SrvRecord> parse_srv_answer(std::string_view message) {
  std::vector<SrvRecord> records;
  MessageReader reader(message);
  reader.skip(4);
  const uint16_t questions = reader.number();
  const uint16_t answers = reader.number();
  reader.skip(4);
  for (uint16_t i = 0; i < questions && reader.good(); ++i) {
    (void)reader.name();
    reader.skip(4);
  }
  for (uint16_t i = 0; i < answers && reader.good(); ++i) {
    (void)reader.name();
    const uint16_t type = reader.number();
    const uint16_t space = reader.number();
    reader.skip(4);  // how long it holds
    const uint16_t length = reader.number();
    const size_t begin = reader.place();
    if (type == ns_t_srv && space == ns_c_in) {
      SrvRecord record{.priority = reader.number(),
                       .weight = reader.number(),
                       .port = reader.number(),
                       .host = {}};
      record.host = reader.name();
      if (!reader.good() || reader.place() != begin + length) break;
      if (is_host(record.host) && record.port != 0) records.push_back(std::move(record));
    } else {
      reader.skip(length);
    }
  }
  return records;
}

std::vector<std::string> order_servers(std::vector<SrvRecord> records,
                                       const std::function<uint64_t(uint64_t)>& draw) {
  std::vector<std::string> out;
  // those without weight come first, so that a draw of 0 can be theirs
  std::ranges::stable_sort(
      records, {}, [](const SrvRecord& one) { return std::pair(one.priority, one.weight); });
  while (!records.empty()) {
    uint64_t sum = 0;
    const auto end = std::ranges::find_if(
        records, [&](const SrvRecord& one) { return one.priority != records.front().priority; });
    std::for_each(records.begin(), end, [&](const SrvRecord& one) { sum += one.weight; });
    uint64_t drawn = draw(sum);
    auto chosen = records.begin();
    while (chosen + 1 != end && chosen->weight < drawn) {
      drawn -= chosen->weight;
      ++chosen;
    }
    out.push_back(fmt::format("{}:{}", chosen->host, chosen->port));
    records.erase(chosen);
  }
  return out;
}

std::vector<std::string> controllers_in_dns() {
  struct __res_state state {};
  if (res_ninit(&state) != 0) return {};
  state.retrans = kWaitSeconds;
  state.retry = 1;
  std::vector<SrvRecord> records;
  std::vector<unsigned char> answer(NS_MAXMSG);
  for (char** domain = state.dnsrch; *domain != nullptr && records.empty(); ++domain) {
    const int size = res_nquerydomain(&state, kService, *domain, ns_c_in, ns_t_srv, answer.data(),
                                      static_cast<int>(answer.size()));
    // nor would a server answer for the others
    if (size < 0 && state.res_h_errno == TRY_AGAIN) break;
    if (size <= 0) continue;
    const size_t arrived = std::min(static_cast<size_t>(size), answer.size());
    records = parse_srv_answer({reinterpret_cast<const char*>(answer.data()), arrived});
  }
  res_nclose(&state);
  return order_servers(std::move(records),
                       [](uint64_t most) { return random_number() % (most + 1); });
}

}  // namespace sluice::net
