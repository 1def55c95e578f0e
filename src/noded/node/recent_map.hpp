// What came lately, by key: beyond so many, the oldest make room.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace sluice::noded {

template <class Key, class Value>
class RecentMap {
 public:
  explicit RecentMap(size_t most) : most_(most) {}
  // What is there already keeps its age.
  void put(const Key& key, Value value) {
    if (!values_.insert_or_assign(key, std::move(value)).second) return;
    order_.push_back(key);
    if (values_.size() <= most_) return;
    values_.erase(order_.front());
    order_.pop_front();
  }
  [[nodiscard]] bool contains(const Key& key) const { return values_.contains(key); }
  // nullptr when it is not there.
  [[nodiscard]] const Value* find(const Key& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  void erase(const Key& key) {
    if (values_.erase(key) != 0) std::erase(order_, key);
  }
  // Takes it out.
  [[nodiscard]] std::optional<Value> take(const Key& key) {
    auto found = values_.extract(key);
    if (!found) return std::nullopt;
    std::erase(order_, key);
    return std::move(found.mapped());
  }
  [[nodiscard]] size_t size() const { return values_.size(); }

 private:
  size_t most_;
  std::map<Key, Value> values_;
  std::deque<Key> order_;  // oldest first
};

}  // namespace sluice::noded
