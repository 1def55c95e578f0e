// Answers of the DNS about controllers: what is read of them, and whom it has asked first.
#include "common/net/srv_records.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

std::string number(unsigned value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value)};
}

// "a.b" as labels.
std::string labels(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    out += static_cast<char>(label.size());
    out += label;
    name.remove_prefix(std::min(name.size(), label.size() + 1));
  }
  return out + '\0';
}

const std::string kHere = "\xc0\x0c";  // the name in the question

std::string record(unsigned type, const std::string& data) {
  return kHere + number(type) + number(1) + std::string(4, '\0') +
         number(static_cast<unsigned>(data.size())) + data;
}
std::string srv(const SrvRecord& one) {
  return record(33,
                number(one.priority) + number(one.weight) + number(one.port) + labels(one.host));
}
std::string answer(const std::vector<std::string>& records) {
  std::string out = number(7) + number(0x8180) + number(1) +
                    number(static_cast<unsigned>(records.size())) + number(0) + number(0);
  out += labels("_slurmctld._tcp.cluster.test") + number(33) + number(1);
  for (const std::string& one : records) out += one;
  return out;
}

const SrvRecord kFirst{.priority = 0, .weight = 5, .port = 6817, .host = "ctl1.cluster.test"};
const SrvRecord kSecond{.priority = 10, .weight = 0, .port = 7000, .host = "ctl2"};

TEST(SrvRecords, AreReadFromAnAnswer) {
  const SrvRecord none{.priority = 0, .weight = 0, .port = 1, .host = ""},
      socket{.priority = 0, .weight = 0, .port = 1, .host = "unix:/tmp/x"};
  const std::string alias = record(5, labels("elsewhere.test"));
  EXPECT_EQ(parse_srv_answer(answer({alias, srv(kFirst), srv(none), srv(socket), srv(kSecond)})),
            (std::vector{kFirst, kSecond}));
  EXPECT_TRUE(parse_srv_answer(answer({})).empty());
  // a name that goes on where the question's does
  const std::string shared =
      record(33, number(1) + number(2) + number(3) + '\3' + "ctl" + "\xc0\x1c");
  const SrvRecord read{.priority = 1, .weight = 2, .port = 3, .host = "ctl.cluster.test"};
  EXPECT_EQ(parse_srv_answer(answer({shared})), (std::vector{read}));
}

TEST(SrvRecords, EndWhereAnAnswerMakesNoSense) {
  const std::string whole = answer({srv(kFirst), srv(kSecond)});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_LT(parse_srv_answer(whole.substr(0, size)).size(), 2U) << size;
  EXPECT_TRUE(
      parse_srv_answer(answer({record(33, number(1) + number(2) + number(3) + kHere + "more")}))
          .empty());
  const std::string circle = record(
      33, number(1) + number(2) + number(3) + "\xc0" + static_cast<char>(12 + 30 + 4 + 12 + 6));
  EXPECT_TRUE(parse_srv_answer(answer({circle})).empty());
}

TEST(SrvRecords, AreAskedByPriorityAndWeight) {
  const auto server = [](uint16_t priority, uint16_t weight, uint16_t port) {
    return SrvRecord{.priority = priority, .weight = weight, .port = port, .host = "c"};
  };
  const std::vector<SrvRecord> records{server(2, 0, 4), server(1, 30, 3), server(1, 10, 2),
                                       server(1, 0, 1)};
  using Order = std::vector<std::string>;
  EXPECT_EQ(order_servers(records, [](uint64_t) { return 0; }),
            (Order{"c:1", "c:2", "c:3", "c:4"}));
  EXPECT_EQ(order_servers(records, [](uint64_t most) { return most; }),
            (Order{"c:3", "c:2", "c:1", "c:4"}));
  std::vector<uint64_t> sums;
  EXPECT_EQ(order_servers(records,
                          [&](uint64_t most) {
                            sums.push_back(most);
                            return std::min<uint64_t>(most, 10);
                          }),
            (Order{"c:2", "c:3", "c:1", "c:4"}));
  EXPECT_EQ(sums, (std::vector<uint64_t>{40, 30, 0, 0}));
  EXPECT_TRUE(order_servers({}, [](uint64_t) { return 0; }).empty());
}

}  // namespace
}  // namespace sluice::net
