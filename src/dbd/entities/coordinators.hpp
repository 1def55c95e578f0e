// Who coordinates which account. What is said of an account holds on all of its clusters; what
// follows from accounts above it holds on the cluster where they are above it, and nowhere else.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dbd/entities/entities.hpp"

namespace sluice::dbd {

// What one user coordinates.
class Coordinated {
 public:
  Coordinated() = default;
  Coordinated(const Entities& entities, std::string_view user);
  [[nodiscard]] bool empty() const { return somewhere_.empty(); }
  [[nodiscard]] bool on(const std::string& cluster, const std::string& account) const {
    return places_.count({cluster, account}) != 0;
  }
  // On each cluster where it stands. One that stands nowhere is his who is its own coordinator.
  [[nodiscard]] bool everywhere(const std::string& account) const {
    return somewhere_.count(account) != 0 && elsewhere_.count(account) == 0;
  }
  // Accounts, on one cluster or more.
  [[nodiscard]] const std::set<std::string>& somewhere() const { return somewhere_; }

 private:
  std::set<std::pair<std::string, std::string>> places_;  // cluster, account
  std::set<std::string> somewhere_;
  std::set<std::string> elsewhere_;  // of others on one cluster at least
};

// By account, sorted: its own coordinators and those of accounts above it on `cluster`; of all
// clusters where it is empty. All accounts that are there are in it.
[[nodiscard]] std::map<std::string, std::vector<std::string>> coordinators_by_account(
    const Entities& entities, std::string_view cluster);

}  // namespace sluice::dbd
