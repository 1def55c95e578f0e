// One row of a table of configuration keys. The row drives parsing, checks, messages,
// `scontrol show config`, the documentation, and what a reconfigure may change.
//
//   key("KillWait", ConfKind::kSeconds, "30").acts<&ClusterConfig::kill_wait>()
//
// reads: KillWait is a number of seconds, 30 by default, stored in kill_wait, and does something.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/base/time.hpp"

namespace sluice::tables {

enum class ConfKind : uint8_t {
  kText,          // anything
  kAbsolutePath,  // begins with /
  kName,          // letters, digits and _ - . +
  kNumber,        // min … max; UNLIMITED where with_unlimited()
  kPercent,       // a real number of percent
  kBool,          // YES or NO
  kFlag,          // the same, written and shown as 0 or 1
  kSeconds,
  kMinutes,
  kMicroseconds,
  kMilliseconds,
  kTimeLimit,  // minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s; kept in whole minutes, rounded up
  kTimeSpan,   // the same notations, kept exactly
  kMemory,     // MiB; UNLIMITED is 0
  kEnum,       // one of `allowed`
  kFlags,      // several of `allowed`, kept in the order of the table
  kList,       // several of `allowed`, kept in the order written
  kWords,      // a comma list of anything
  kOptions,    // a comma list of NAME or NAME=VALUE; a name not in `allowed` is reported only
  kHosts,      // a host list
  kPorts,      // 6817 or 6817-6820
  kRuntime,    // no key: a line of `scontrol show config` that the running controller fills in
};

// kUnproved: it acts on what users say of themselves (their account, their QOS), which nothing here
// can check.
enum class ConfEffect : uint8_t { kActs, kUnproved, kNotYet, kObsolete };

// A value after its kind's rules were applied. Members that a kind does not use stay empty.
struct ConfValue {
  std::string text;     // as written, or the canonical spelling of kEnum
  uint64_t number = 0;  // kMaxNumber for UNLIMITED; the index for kEnum
  double real = 0;
  Duration span{};  // kNoLimit for INFINITE
  std::vector<std::string> items;
};

inline constexpr uint64_t kMax16 = 65533;  // the two numbers above it mean "not set", "infinite"
inline constexpr uint64_t kMax32 = 4294967293;
inline constexpr uint64_t kMax64 = UINT64_MAX - 2;

template <class T>
struct IsOptionalMember : std::false_type {};
template <class T>
struct IsOptionalMember<std::optional<T>> : std::true_type {};
template <class T>
struct IsListMember : std::false_type {};
template <class T>
struct IsListMember<std::vector<T>> : std::true_type {};

// The part of a value that a member of type T keeps.
template <class T>
T conf_value_as(const ConfValue& value) {
  if constexpr (IsOptionalMember<T>::value) return conf_value_as<typename T::value_type>(value);
  else if constexpr (std::is_same_v<T, std::string>) return value.text;
  else if constexpr (IsListMember<T>::value) return value.items;
  else if constexpr (std::is_same_v<T, Duration>) return value.span;
  else if constexpr (std::is_same_v<T, double>) return value.real;
  else if constexpr (std::is_same_v<T, bool>) return value.number != 0;
  else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(value.number > UINT32_MAX ? UINT32_MAX : value.number);
  } else {
    return static_cast<T>(value.number);
  }
}

template <class Owner>
struct ConfKey {
  // False when the value is not one this key can have, although its kind allowed it.
  using Setter = bool (*)(Owner&, const ConfValue&);

  std::string_view name;
  ConfKind kind = ConfKind::kText;
  std::string_view fallback;  // the default as text; empty: none
  std::string_view allowed;   // names for kEnum, kFlags, kList and kOptions, "A,B,C"
  std::string_view acting;    // of a key that acts, those of `allowed` that do; empty: all
  // those of `allowed` that bound what has no bound here: nobody misses them
  std::string_view needless;
  std::string_view counts;        // those of a kOptions row's names whose value is a number
  std::string_view allowed_text;  // what is allowed, in words, when the kind does not say it all
  uint64_t min = 0;
  uint64_t max = kMax32;
  bool unlimited = false;  // UNLIMITED and INFINITE are values, of times -1, too
  bool none = false;       // and so are NONE and -1 (SuspendTime)
  bool by_number = false;  // kEnum: the index is a spelling too
  bool repeated = false;   // each line adds a value
  bool restart = false;    // `scontrol reconfigure` cannot change it
  ConfEffect effect = ConfEffect::kNotYet;
  Setter set = nullptr;
  void (*copy)(const Owner& from, Owner& to) = nullptr;  // of the member, where there is one

  // `scontrol show config`
  bool is_shown = true;
  std::string_view heading;           // empty: the name
  std::string_view unit;              // behind a number: " nodes/min"
  std::string_view unset = "(null)";  // shown when neither set nor defaulted

  template <auto Member>
  [[nodiscard]] constexpr ConfKey keeps() const {
    ConfKey row = *this;
    row.set = [](Owner& owner, const ConfValue& value) {
      using T = std::remove_reference_t<decltype(owner.*Member)>;
      owner.*Member = conf_value_as<T>(value);
      return true;
    };
    row.copy = [](const Owner& from, Owner& to) { to.*Member = from.*Member; };
    return row;
  }
  template <auto Member>
  [[nodiscard]] constexpr ConfKey acts() const {
    ConfKey row = keeps<Member>();
    row.effect = ConfEffect::kActs;
    return row;
  }
  // A repeated key: each value is added to a list.
  template <auto Member>
  [[nodiscard]] constexpr ConfKey adds() const {
    ConfKey row = *this;
    row.effect = ConfEffect::kActs;
    row.repeated = true;
    row.copy = [](const Owner& from, Owner& to) { to.*Member = from.*Member; };
    row.set = [](Owner& owner, const ConfValue& value) {
      (owner.*Member).push_back(value.text);
      return true;
    };
    return row;
  }
  [[nodiscard]] constexpr ConfKey acts_by(Setter setter, std::string_view words = {}) const {
    ConfKey row = *this;
    row.set = setter;
    row.allowed_text = words;
    row.effect = ConfEffect::kActs;
    return row;
  }
  [[nodiscard]] constexpr ConfKey each_line() const {
    ConfKey row = *this;
    row.repeated = true;
    return row;
  }
  [[nodiscard]] constexpr ConfKey range(uint64_t low, uint64_t high) const {
    ConfKey row = *this;
    row.min = low;
    row.max = high;
    return row;
  }
  [[nodiscard]] constexpr ConfKey with_unlimited() const {
    ConfKey row = *this;
    row.unlimited = true;
    return row;
  }
  [[nodiscard]] constexpr ConfKey or_none() const {
    ConfKey row = with_unlimited();
    row.none = true;
    return row;
  }
  [[nodiscard]] constexpr ConfKey numbered() const {
    ConfKey row = *this;
    row.by_number = true;
    return row;
  }
  [[nodiscard]] constexpr ConfKey allow(std::string_view names) const {
    ConfKey row = *this;
    row.allowed = names;
    return row;
  }
  [[nodiscard]] constexpr ConfKey only(std::string_view names) const {
    ConfKey row = *this;
    row.acting = names;
    return row;
  }
  [[nodiscard]] constexpr ConfKey except(std::string_view names) const {
    ConfKey row = *this;
    row.needless = names;
    return row;
  }
  [[nodiscard]] constexpr ConfKey with_counts(std::string_view names) const {
    ConfKey row = *this;
    row.counts = names;
    return row;
  }
  [[nodiscard]] constexpr ConfKey needs_restart() const {
    ConfKey row = *this;
    row.restart = true;
    return row;
  }
  [[nodiscard]] constexpr ConfKey unproved() const {
    ConfKey row = *this;
    row.effect = ConfEffect::kUnproved;
    return row;
  }
  // What the list is when nobody sets it, of a key that has a setter.
  [[nodiscard]] constexpr ConfKey usually(std::string_view value) const {
    ConfKey row = *this;
    row.fallback = value;
    return row;
  }
  [[nodiscard]] constexpr ConfKey not_yet() const {
    ConfKey row = *this;
    row.effect = ConfEffect::kNotYet;
    return row;
  }
  [[nodiscard]] constexpr ConfKey obsolete() const {
    ConfKey row = hidden();
    row.effect = ConfEffect::kObsolete;
    return row;
  }
  [[nodiscard]] constexpr ConfKey hidden() const {
    ConfKey row = *this;
    row.is_shown = false;
    return row;
  }
  [[nodiscard]] constexpr ConfKey in(std::string_view unit_name) const {
    ConfKey row = *this;
    row.unit = unit_name;
    return row;
  }
  [[nodiscard]] constexpr ConfKey shown(std::string_view as, std::string_view when_unset) const {
    ConfKey row = *this;
    row.heading = as;
    row.unset = when_unset;
    return row;
  }
};

}  // namespace sluice::tables
