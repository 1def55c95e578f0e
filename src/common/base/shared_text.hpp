// SharedText: an immutable text in 8 bytes, shared between its copies and counted in place; an
// empty one owns nothing. Job records hold dozens of texts of which most are empty or the same.
// Copying and dropping copies is safe from several threads.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/base/describe.hpp"

namespace sluice {

class SharedText {
 public:
  SharedText() = default;
  template <class T>
  requires(std::is_convertible_v<const T&, std::string_view> && !std::is_same_v<T, SharedText>)
      // NOLINTNEXTLINE(google-explicit-constructor): a text is one
      SharedText(const T& text)
      : block_(make(std::string_view(text))) {}
  SharedText(const SharedText& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  SharedText(SharedText&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedText() { release(); }

  [[nodiscard]] std::string_view view() const {
    return block_ == nullptr ? std::string_view() : std::string_view(text_of(block_), block_->size);
  }
  operator std::string_view() const { return view(); }  // NOLINT: meant implicit
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] const char* c_str() const { return block_ == nullptr ? "" : text_of(block_); }
  [[nodiscard]] bool empty() const { return block_ == nullptr; }
  [[nodiscard]] size_t size() const { return block_ == nullptr ? 0 : block_->size; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.block_ == b.block_ || a.view() == b.view();
  }
  friend auto operator<=>(const SharedText& a, const SharedText& b) {
    return a.view() <=> b.view();
  }
  template <class T>
  requires(std::is_convertible_v<const T&, std::string_view> &&
           !std::is_same_v<T, SharedText>) friend bool
  operator==(const SharedText& a, const T& b) {
    return a.view() == std::string_view(b);
  }

 private:
  struct Block {  // the characters and a NUL follow it
    std::atomic<uint32_t> references;
    uint32_t size;
  };
  static char* text_of(Block* block) { return reinterpret_cast<char*>(block + 1); }
  static Block* make(std::string_view text) {
    if (text.empty()) return nullptr;
    void* memory = ::operator new(sizeof(Block) + text.size() + 1);
    auto* block = new (memory) Block{1, static_cast<uint32_t>(text.size())};
    std::memcpy(text_of(block), text.data(), text.size());
    text_of(block)[text.size()] = '\0';
    return block;
  }
  void release() {
    if (block_ != nullptr && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete): the analyzer does not count references
      block_->~Block();
      ::operator delete(block_);
    }
  }

  Block* block_ = nullptr;
};
static_assert(sizeof(SharedText) == 8);

template <>
struct TextTraits<SharedText> {
  static std::string to_text(const SharedText& text) { return text.str(); }
  static bool from_text(std::string_view bytes, SharedText& text) {
    text = bytes;
    return true;
  }
};

}  // namespace sluice

template <>
struct std::hash<sluice::SharedText> {
  size_t operator()(const sluice::SharedText& text) const noexcept {
    return std::hash<std::string_view>()(text.view());
  }
};
