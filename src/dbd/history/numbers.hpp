// The numbers of a job's association, QOS and wckey, as they are today.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "common/protocol/accounting.hpp"
#include "dbd/entities/entities.hpp"

namespace sluice::dbd {

// Each combination is looked up once.
class HistoryNumbers {
 public:
  explicit HistoryNumbers(std::shared_ptr<const Entities> entities)
      : entities_(std::move(entities)) {}
  // 0 where there is none (any more).
  void add(protocol::HistoryJob& record);

 private:
  using Names = std::tuple<std::string, std::string, std::string, std::string>;
  [[nodiscard]] uint32_t find_association(const protocol::HistoryJob& record);
  [[nodiscard]] uint32_t find_wckey(const protocol::HistoryJob& record) const;

  const std::shared_ptr<const Entities> entities_;
  std::map<Names, uint32_t> associations_;
  std::map<std::string, uint32_t> qos_;
};

}  // namespace sluice::dbd
