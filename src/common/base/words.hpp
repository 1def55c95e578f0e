// 64-bit words in a row, as a vector, of which two need no memory of their own: the cores of most
// nodes fit into them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice {

class Words {
 public:
  Words() = default;
  Words(const Words& other) { assign(other); }
  Words(Words&& other) noexcept { swap(other); }
  Words& operator=(const Words& other) {
    if (this != &other) assign(other);
    return *this;
  }
  Words& operator=(Words&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Words() {
    if (is_on_heap()) delete[] store_.heap;
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] uint64_t* data() { return is_on_heap() ? store_.heap : store_.own; }
  [[nodiscard]] const uint64_t* data() const { return is_on_heap() ? store_.heap : store_.own; }
  [[nodiscard]] uint64_t& operator[](size_t at) { return data()[at]; }
  [[nodiscard]] const uint64_t& operator[](size_t at) const { return data()[at]; }
  [[nodiscard]] const uint64_t* begin() const { return data(); }
  [[nodiscard]] const uint64_t* end() const { return data() + size_; }
  void clear() { size_ = 0; }
  // New words are 0.
  void resize(size_t size) {
    const auto count = static_cast<uint32_t>(size);
    if (count > capacity_) grow(count);
    if (count > size_) std::fill(data() + size_, data() + count, 0);
    size_ = count;
  }

 private:
  static constexpr uint32_t kOwn = 2;
  [[nodiscard]] bool is_on_heap() const { return capacity_ > kOwn; }
  void grow(uint32_t size) {
    auto* heap = new uint64_t[size];
    std::copy(begin(), end(), heap);
    if (is_on_heap()) delete[] store_.heap;
    store_.heap = heap;
    capacity_ = size;
  }
  void assign(const Words& other) {
    size_ = 0;  // nothing is kept
    if (other.size_ > capacity_) grow(other.size_);
    std::copy(other.begin(), other.end(), data());
    size_ = other.size_;
  }
  void swap(Words& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(store_, other.store_);
  }

  uint32_t size_ = 0, capacity_ = kOwn;
  union Store {
    uint64_t own[kOwn] = {};
    uint64_t* heap;
  } store_;
};

}  // namespace sluice
