// Whom a job is charged to, and what it costs while it runs. Both are immutable and shared.
#pragma once

#include <cstdint>

#include "common/base/shared_text.hpp"
#include "common/model/accounting.hpp"

namespace sluice {

// By what records of accounting the job's limits are. 0: none.
struct JobAccount {
  AssociationId association = 0;
  QosId qos = 0;
  QosId partition_qos = 0;  // QOS= of the partition that it runs in, or asks for first
  // Name of the QOS that it asked for, while a limit would hold it back and it runs in the one of
  // SluiceParameters=soft_limit_qos: in that one's limits alone. Empty: it runs in its own.
  SharedText own_qos;
  bool operator==(const JobAccount&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "association", &JobAccount::association);
    field(2, "qos", &JobAccount::qos);
    field(3, "partition_qos", &JobAccount::partition_qos);
    field(4, "own_qos", &JobAccount::own_qos);
  }
};

// It runs by leave of the soft QOS.
[[nodiscard]] inline bool runs_softly(const JobAccount* account) {
  return account != nullptr && !account->own_qos.empty();
}

inline constexpr uint64_t kMicro = 1'000'000;  // of what is counted in millionths

// What a job holds since its start, and the weight of each second of it.
struct JobCharge {
  TresAmounts tres;                // with billing, as a whole number
  uint64_t billing_micro = 0;      // exact billing, in millionths
  uint64_t factor_micro = kMicro;  // UsageFactor of its QOS, in millionths
  bool operator==(const JobCharge&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "tres", &JobCharge::tres);
    field(2, "billing_micro", &JobCharge::billing_micro);
    field(3, "factor_micro", &JobCharge::factor_micro);
  }
};

}  // namespace sluice
