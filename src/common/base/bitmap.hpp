// A set of small numbers as bits in 64-bit words: CPUs of a node, nodes of a cluster.
//
// It grows on set(); numbers beyond the end are simply not in it, so bitmaps of different lengths
// compare and combine without ado. As text it is `0-3,7` (empty: no bit).
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/describe.hpp"
#include "common/base/words.hpp"

namespace sluice {

class Bitmap {
 public:
  static constexpr size_t kNone = SIZE_MAX;     // what a search gives when there is no such bit
  static constexpr size_t kMaxBits = 1U << 20;  // bound on what from_text() accepts

  Bitmap() = default;
  // The bits 0 … count-1.
  [[nodiscard]] static Bitmap first(size_t count) {
    Bitmap made;
    made.set_range(0, count);
    return made;
  }

  void set(size_t bit) {
    if (bit / 64 >= words_.size()) words_.resize(bit / 64 + 1);
    words_[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  // The bits from … to-1.
  void set_range(size_t from, size_t to) {
    if (from >= to) return;
    if ((to - 1) / 64 >= words_.size()) words_.resize((to - 1) / 64 + 1);
    for (size_t bit = from; bit < to;) {
      const size_t count = std::min(64 - bit % 64, to - bit);
      words_[bit / 64] |= (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << (bit % 64);
      bit += count;
    }
  }
  void reset(size_t bit) {
    if (bit / 64 < words_.size()) words_[bit / 64] &= ~(uint64_t{1} << (bit % 64));
  }
  void clear() { words_.clear(); }
  [[nodiscard]] bool test(size_t bit) const {
    return bit / 64 < words_.size() && (words_[bit / 64] >> (bit % 64) & 1) != 0;
  }
  [[nodiscard]] size_t count() const {
    size_t sum = 0;
    for (const uint64_t word : words_) sum += static_cast<size_t>(std::popcount(word));
    return sum;
  }
  [[nodiscard]] bool any() const {
    return std::any_of(words_.begin(), words_.end(), [](uint64_t word) { return word != 0; });
  }
  [[nodiscard]] bool none() const { return !any(); }

  Bitmap& operator|=(const Bitmap& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
    uint64_t* mine = words_.data();
    const uint64_t* its = other.words_.data();
    for (size_t i = 0; i < other.words_.size(); ++i) mine[i] |= its[i];
    return *this;
  }
  Bitmap& operator&=(const Bitmap& other) {
    if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
    uint64_t* mine = words_.data();
    const uint64_t* its = other.words_.data();
    for (size_t i = 0; i < words_.size(); ++i) mine[i] &= its[i];
    return *this;
  }
  // Takes the other's bits away.
  Bitmap& and_not(const Bitmap& other) {
    const size_t shared = std::min(words_.size(), other.words_.size());
    uint64_t* mine = words_.data();
    const uint64_t* its = other.words_.data();
    for (size_t i = 0; i < shared; ++i) mine[i] &= ~its[i];
    return *this;
  }
  friend Bitmap operator|(Bitmap a, const Bitmap& b) { return a |= b; }
  friend Bitmap operator&(Bitmap a, const Bitmap& b) { return a &= b; }

  [[nodiscard]] bool intersects(const Bitmap& other) const { return count_common(other, true) > 0; }
  // The number of bits set in both.
  [[nodiscard]] size_t count_common(const Bitmap& other) const {
    return count_common(other, false);
  }
  [[nodiscard]] bool contains(const Bitmap& other) const {
    for (size_t i = 0; i < other.words_.size(); ++i) {
      if ((other.words_[i] & ~(i < words_.size() ? words_[i] : 0)) != 0) return false;
    }
    return true;
  }

  [[nodiscard]] size_t find_first() const { return find_from(0); }
  // The first set bit after `bit`.
  [[nodiscard]] size_t find_next(size_t bit) const { return find_from(bit + 1); }
  [[nodiscard]] size_t find_last() const {
    for (size_t i = words_.size(); i-- > 0;) {
      if (words_[i] != 0) return i * 64 + 63 - static_cast<size_t>(std::countl_zero(words_[i]));
    }
    return kNone;
  }
  [[nodiscard]] size_t find_first_clear(size_t from = 0) const {
    for (size_t i = from / 64; i < words_.size(); ++i) {
      uint64_t clear = ~words_[i];
      if (i == from / 64) clear &= ~uint64_t{0} << (from % 64);
      if (clear != 0) return i * 64 + static_cast<size_t>(std::countr_zero(clear));
    }
    return std::max(from, words_.size() * 64);
  }
  // The first bit of the lowest run of `length` set bits, or kNone.
  [[nodiscard]] size_t find_run(size_t length) const {
    for (size_t start = find_first(); start != kNone;) {
      const size_t end = find_first_clear(start);
      if (end - start >= length) return start;
      start = find_from(end);
    }
    return kNone;
  }

  template <class F>
  void for_each(F&& visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(i * 64 + static_cast<size_t>(std::countr_zero(word)));
      }
    }
  }
  // The lowest `wanted` set bits; all when there are fewer.
  [[nodiscard]] Bitmap take_first(size_t wanted) const {
    Bitmap taken;
    for (size_t bit = find_first(); bit != kNone && wanted > 0; bit = find_next(bit), --wanted) {
      taken.set(bit);
    }
    return taken;
  }

  friend bool operator==(const Bitmap& a, const Bitmap& b) {
    const auto& [small, large] = a.words_.size() < b.words_.size() ? std::tie(a.words_, b.words_)
                                                                   : std::tie(b.words_, a.words_);
    return std::equal(small.begin(), small.end(), large.begin()) &&
           std::all_of(large.begin() + small.size(), large.end(),
                       [](uint64_t word) { return word == 0; });
  }

  [[nodiscard]] std::string to_text() const {
    std::string out;
    for (size_t start = find_first(); start != kNone;) {
      const size_t end = find_first_clear(start);
      if (!out.empty()) out += ',';
      out += std::to_string(start);
      if (end - start > 1) out.append("-").append(std::to_string(end - 1));
      start = find_from(end);
    }
    return out;
  }
  // Nothing when the text is no list of ranges or names a bit beyond kMaxBits.
  [[nodiscard]] static std::optional<Bitmap> from_text(std::string_view text) {
    Bitmap made;
    const char* at = text.data();
    const char* end = at + text.size();
    while (at != end) {
      size_t from = 0;
      auto [rest, error] = std::from_chars(at, end, from);
      if (error != std::errc() || from >= kMaxBits) return std::nullopt;
      size_t to = from;
      if (rest != end && *rest == '-') {
        auto [after, bad] = std::from_chars(rest + 1, end, to);
        if (bad != std::errc() || to < from || to >= kMaxBits) return std::nullopt;
        rest = after;
      }
      made.set_range(from, to + 1);
      if (rest != end && (*rest != ',' || ++rest == end)) return std::nullopt;
      at = rest;
    }
    return made;
  }

 private:
  [[nodiscard]] size_t find_from(size_t from) const {
    for (size_t i = from / 64; i < words_.size(); ++i) {
      uint64_t word = words_[i];
      if (i == from / 64) word &= ~uint64_t{0} << (from % 64);
      if (word != 0) return i * 64 + static_cast<size_t>(std::countr_zero(word));
    }
    return kNone;
  }
  [[nodiscard]] size_t count_common(const Bitmap& other, bool one_is_enough) const {
    size_t sum = 0;
    const size_t shared = std::min(words_.size(), other.words_.size());
    for (size_t i = 0; i < shared; ++i) {
      sum += static_cast<size_t>(std::popcount(words_[i] & other.words_[i]));
      if (one_is_enough && sum > 0) break;
    }
    return sum;
  }

  Words words_;
};

template <>
struct TextTraits<Bitmap> {
  static std::string to_text(const Bitmap& bits) { return bits.to_text(); }
  static bool from_text(std::string_view text, Bitmap& bits) {
    auto made = Bitmap::from_text(text);
    if (made) bits = std::move(*made);
    return made.has_value();
  }
};

}  // namespace sluice
