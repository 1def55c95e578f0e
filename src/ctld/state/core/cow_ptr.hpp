// CowPtr<T>: a shared value in 8 bytes that is copied only when it is changed while someone else
// still holds it. Reading and dropping copies is safe from several threads; edit() belongs to the
// one thread that owns the pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "common/base/check.hpp"

namespace sluice::state {

template <class T>
class CowPtr {
 public:
  CowPtr() = default;
  CowPtr(const CowPtr& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  CowPtr(CowPtr&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  CowPtr& operator=(CowPtr other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~CowPtr() { release(); }

  template <class... Args>
  [[nodiscard]] static CowPtr make(Args&&... args) {
    CowPtr made;
    made.block_ = new Block{1, T{std::forward<Args>(args)...}};
    return made;
  }

  explicit operator bool() const { return block_ != nullptr; }
  [[nodiscard]] const T& operator*() const { return block_->value; }
  [[nodiscard]] const T* operator->() const { return &block_->value; }
  [[nodiscard]] const T* get() const { return block_ == nullptr ? nullptr : &block_->value; }
  [[nodiscard]] bool unique() const {
    return block_->references.load(std::memory_order_acquire) == 1;
  }

  // The value to change: this one when nobody else holds it, else a copy of its own. A null pointer
  // gets a fresh value.
  [[nodiscard]] T& edit() {
    if (block_ == nullptr) {
      block_ = new Block{1, T{}};
    } else if (!unique()) {
      Block* copy = new Block{1, block_->value};
      release();
      block_ = copy;
    }
    return block_->value;
  }

 private:
  struct Block {
    std::atomic<uint32_t> references;
    T value;
  };
  void release() {
    if (block_ != nullptr && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete block_;
    }
  }

  Block* block_ = nullptr;
};

}  // namespace sluice::state
