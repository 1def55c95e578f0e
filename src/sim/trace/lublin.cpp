#include "sim/trace/lublin.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::sim {
namespace {

// Sizes.
constexpr double kSerial = 0.244, kPowerOfTwo = 0.576;
constexpr double kLeastLog = 0.8, kMiddleBelowLargest = 2.5, kLowerStage = 0.86;
// Run times.
constexpr double kShortShape = 4.2, kShortScale = 0.94, kLongShape = 312, kLongScale = 0.03;
constexpr double kBranchSlope = -0.0054, kBranchOffset = 0.78;
constexpr double kLeastBranch = 0.05, kMostBranch = 0.95;
constexpr double kMostLogRun = 12;
// Arrivals.
constexpr double kGapShape = 10.2303, kGapScale = 0.4871, kMostLogGap = 13;
constexpr double kDayShape = 8.1737, kDayScale = 3.9631;
constexpr int kDayBegins = 11;  // the day's cycle begins at half past five
constexpr double kSlotSeconds = 1800;

double gamma_density(double x, double shape, double scale) {
  return std::exp((shape - 1) * std::log(x) - x / scale - shape * std::log(scale) -
                  std::lgamma(shape));
}

// The integral from `from` to `from + 1`, by Simpson's rule.
double gamma_share(double from, double shape, double scale) {
  constexpr int kParts = 16;
  double sum = 0;
  for (int i = 0; i <= kParts; ++i) {
    const double weight = i == 0 || i == kParts ? 1 : i % 2 == 1 ? 4 : 2;
    const double x = std::max(from + static_cast<double>(i) / kParts, 1e-9);
    sum += weight * gamma_density(x, shape, scale);
  }
  return sum / (3 * kParts);
}

}  // namespace

LublinModel::LublinModel(uint32_t processors, uint64_t seed)
    : log_size_(std::log2(static_cast<double>(processors))),
      processors_(processors),
      random_(seed) {
  double sum = 0;
  for (int slot = 0; slot < kSlots; ++slot) {
    double& weight = weight_[(slot + kDayBegins) % kSlots];
    weight = gamma_share(slot + kDayBegins - 0.5, kDayShape, kDayScale);
    sum += weight;
  }
  for (double& weight : weight_) weight *= kSlots / sum;
}

uint32_t LublinModel::size() {
  const double kind = random_.uniform();
  if (kind <= kSerial || processors_ == 1) return 1;
  const double low = std::min(kLeastLog, log_size_);
  const double middle = std::max(low, log_size_ - kMiddleBelowLargest);
  double log = random_.uniform() <= kLowerStage ? random_.uniform(low, middle)
                                                : random_.uniform(middle, log_size_);
  if (kind <= kSerial + kPowerOfTwo) log = std::floor(log + 0.5);
  const double size = std::floor(std::pow(2, log) + 0.5);
  return static_cast<uint32_t>(std::clamp(size, 1.0, static_cast<double>(processors_)));
}

int64_t LublinModel::run_seconds(uint32_t size) {
  const double branch = std::clamp(kBranchSlope * size + kBranchOffset, kLeastBranch, kMostBranch);
  double log = kMostLogRun + 1;
  while (log > kMostLogRun) {
    log = random_.uniform() <= branch ? random_.gamma(kShortShape, kShortScale)
                                      : random_.gamma(kLongShape, kLongScale);
  }
  return static_cast<int64_t>(std::exp(log));
}

double LublinModel::next_arrival(double now) {
  double log = kMostLogGap + 1;
  while (log > kMostLogGap) log = random_.gamma(kGapShape, kGapScale);
  double left = std::exp(log);
  while (true) {
    const auto slot = static_cast<int64_t>(now / kSlotSeconds);
    const double until = static_cast<double>(slot + 1) * kSlotSeconds;
    const double weight = weight_[slot % kSlots];
    if (left < (until - now) * weight) return now + left / weight;
    left -= (until - now) * weight;
    now = until;
  }
}

Trace lublin_load(uint32_t jobs, uint32_t processors, uint64_t seed) {
  LublinModel model(processors, seed);
  Trace trace;
  trace.name = "lublin";
  trace.jobs.reserve(jobs);
  double now = 0;
  for (uint32_t number = 1; number <= jobs; ++number) {
    now = model.next_arrival(now);
    TraceJob job;
    job.id = std::to_string(number);
    job.submit_s = static_cast<int64_t>(now);
    job.cpus = model.size();
    job.run_s = model.run_seconds(job.cpus);
    trace.jobs.push_back(std::move(job));
  }
  sort_by_submission(trace);
  return trace;
}

}  // namespace sluice::sim
