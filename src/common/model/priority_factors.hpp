// What a job's priority is made of: factors, mostly of 0 to 1, and what each of them weighs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/describe.hpp"

namespace sluice {

// An item of PriorityWeightTRES: "CPU=1000".
struct TresWeight {
  std::string tres;  // as it is shown: "cpu", "mem", "gres/gpu"
  double weight = 0;
  friend bool operator==(const TresWeight&, const TresWeight&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "tres", &TresWeight::tres);
    field(2, "weight", &TresWeight::weight);
  }
};

struct PriorityWeights {
  uint32_t age = 0;
  uint32_t assoc = 0;
  uint32_t fair_share = 0;
  uint32_t job_size = 0;
  uint32_t partition = 0;
  uint32_t qos = 0;
  std::vector<TresWeight> tres;
  template <class V>
  static void describe(V&& field) {
    field(1, "age", &PriorityWeights::age);
    field(2, "assoc", &PriorityWeights::assoc);
    field(3, "fair_share", &PriorityWeights::fair_share);
    field(4, "job_size", &PriorityWeights::job_size);
    field(5, "partition", &PriorityWeights::partition);
    field(6, "qos", &PriorityWeights::qos);
    field(7, "tres", &PriorityWeights::tres);
  }
};

struct PriorityFactors {
  double age = 0;
  double assoc = 0;
  double fair_share = 0;
  double job_size = 0;
  double partition = 0;
  double qos = 0;
  std::vector<double> tres;  // in the order of PriorityWeights::tres
  friend bool operator==(const PriorityFactors&, const PriorityFactors&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "age", &PriorityFactors::age);
    field(2, "assoc", &PriorityFactors::assoc);
    field(3, "fair_share", &PriorityFactors::fair_share);
    field(4, "job_size", &PriorityFactors::job_size);
    field(5, "partition", &PriorityFactors::partition);
    field(6, "qos", &PriorityFactors::qos);
    field(7, "tres", &PriorityFactors::tres);
  }
};

// The priority that a job has in one of several partitions.
struct PartitionPriority {
  std::string partition;
  uint32_t priority = 0;
  friend bool operator==(const PartitionPriority&, const PartitionPriority&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "partition", &PartitionPriority::partition);
    field(2, "priority", &PartitionPriority::priority);
  }
};

}  // namespace sluice
