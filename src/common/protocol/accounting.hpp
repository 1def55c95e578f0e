// What is said to the accounting daemon about history: controllers send records, commands ask for
// them. Its methods are of the service Accounting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/history.hpp"

namespace sluice::protocol {

// Tokens for it are for it alone (RequestDigest). Has a blank: no node's name.
inline constexpr std::string_view kAccountingDaemon = "the accounting daemon";

// Open to all.
struct PingAccountingRequest {
  static constexpr std::string_view kMethod = "Accounting/Ping";
  using Reply = struct PingAccountingReply;
  template <class V>
  static void describe(V&&) {}
};
struct PingAccountingReply {
  std::string host;
  std::string version;
  uint32_t protocol_version = 0;  // protocol_version.hpp
  template <class V>
  static void describe(V&& field) {
    field(1, "host", &PingAccountingReply::host);
    field(2, "version", &PingAccountingReply::version);
    field(3, "protocol_version", &PingAccountingReply::protocol_version);
  }
};

// Records of one controller, in the order in which they came to be: the first has the number
// `first`, the others follow without a gap. Those that the daemon has already are passed over; the
// answer, which comes when all are durable, names the last that it has. Of root and SlurmUser.
struct StoreHistoryRequest {
  static constexpr std::string_view kMethod = "Accounting/StoreHistory";
  using Reply = struct StoreHistoryReply;
  std::string cluster;
  // numbers begin anew in another stream: a state that was begun, or put back from a backup
  std::string stream;
  uint64_t first = 1;
  std::vector<std::string> records;  // encoded HistoryRecords
  std::string control_host;
  uint32_t control_port = 0;
  uint32_t protocol_version = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &StoreHistoryRequest::cluster);
    field(2, "stream", &StoreHistoryRequest::stream);
    field(3, "first", &StoreHistoryRequest::first);
    field(4, "records", &StoreHistoryRequest::records);
    field(5, "control_host", &StoreHistoryRequest::control_host);
    field(6, "control_port", &StoreHistoryRequest::control_port);
    field(7, "protocol_version", &StoreHistoryRequest::protocol_version);
  }
};
struct StoreHistoryReply {
  uint64_t last = 0;  // all up to it are durable
  template <class V>
  static void describe(V&& field) {
    field(1, "last", &StoreHistoryReply::last);
  }
};

}  // namespace sluice::protocol
