// Described structs (base/describe.hpp) to bytes and back, in protobuf's wire format, so that any
// protobuf implementation can read them with the schemas of proto/ (which a test keeps in step).
//
// A field equal to the one of a default-constructed struct is left out; unknown fields are skipped.
// Integers travel as varints (signed ones as sint64), enums and Time as varints, double as fixed64,
// vectors of scalars packed, variants as a message whose one field has the alternative's kTag.
// decode() never trusts a length or count: bad bytes give kBadRequest, nothing is allocated for
// what is not there, and an empty element, which is two bytes, may be a large struct only as often
// as the message's size makes it plausible (decode_room).
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/base/variant_class.hpp"

namespace sluice::wire {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

namespace detail {

inline void put_varint(std::string& out, uint64_t v) {
  while (v >= 0x80) {
    out.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out.push_back(static_cast<char>(v));
}
inline void put_key(std::string& out, uint32_t number, WireType type) {
  put_varint(out, (static_cast<uint64_t>(number) << 3) | static_cast<uint32_t>(type));
}
constexpr uint64_t zigzag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
constexpr int64_t unzigzag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

// A cursor over bytes; `ok` turns false at the first thing that cannot be.
struct Reader {
  const char* at;
  const char* end;
  // bytes of elements that may still be made, of the whole message; null: as many as there are
  size_t* room = nullptr;
  bool ok = true;

  [[nodiscard]] Reader inside(std::string_view body) const {
    return {body.data(), body.data() + body.size(), room};
  }
  // Before an element is made.
  [[nodiscard]] bool take_room(size_t bytes) {
    if (room == nullptr) return true;
    if (*room < bytes) return ok = false;
    *room -= bytes;
    return true;
  }

  [[nodiscard]] bool more() const { return ok && at < end; }
  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at++);
      v |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return v;
    }
    ok = false;
    return 0;
  }
  uint64_t fixed64() {
    uint64_t v = 0;
    if (end - at < 8) {
      ok = false;
      return 0;
    }
    std::memcpy(&v, at, 8);
    at += 8;
    return v;
  }
  std::string_view bytes() {
    const uint64_t n = varint();
    if (!ok || n > static_cast<uint64_t>(end - at)) {
      ok = false;
      return {};
    }
    std::string_view s(at, n);
    at += n;
    return s;
  }
  void skip(WireType type) {
    switch (type) {
      case WireType::kVarint: varint(); break;
      case WireType::kFixed64: fixed64(); break;
      case WireType::kBytes: bytes(); break;
      case WireType::kFixed32:
        if (end - at < 4) ok = false;
        else at += 4;
        break;
      default: ok = false;
    }
  }
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsShared : std::false_type {};
template <class T>
struct IsShared<std::shared_ptr<const T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class V>
struct IsMap<std::map<std::string, V>> : std::true_type {};

template <class T>
concept Scalar = std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, Time> ||
    std::is_same_v<T, Duration> || std::is_same_v<T, double>;

template <class T>
constexpr WireType scalar_type() {
  return std::is_same_v<T, double> ? WireType::kFixed64 : WireType::kVarint;
}

template <Scalar T>
void put_scalar(std::string& out, const T& v) {
  if constexpr (std::is_same_v<T, double>) {
    const auto bits = std::bit_cast<uint64_t>(v);
    char raw[8];
    std::memcpy(raw, &bits, 8);
    out.append(raw, 8);
  } else if constexpr (std::is_same_v<T, Time>) {
    put_varint(out, zigzag(v.time_since_epoch().count()));
  } else if constexpr (std::is_same_v<T, Duration>) {
    put_varint(out, zigzag(v.count()));
  } else if constexpr (std::is_enum_v<T>) {
    put_varint(out, static_cast<uint64_t>(static_cast<std::underlying_type_t<T>>(v)));
  } else if constexpr (std::is_signed_v<T> && !std::is_same_v<T, bool>) {
    put_varint(out, zigzag(v));
  } else {
    put_varint(out, static_cast<uint64_t>(v));
  }
}
template <Scalar T>
T get_scalar(Reader& in) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(in.fixed64());
  else if constexpr (std::is_same_v<T, Time>) return Time(Duration(unzigzag(in.varint())));
  else if constexpr (std::is_same_v<T, Duration>) return Duration(unzigzag(in.varint()));
  else if constexpr (std::is_same_v<T, bool>) return in.varint() != 0;
  else if constexpr (std::is_enum_v<T>) return static_cast<T>(in.varint());
  else if constexpr (std::is_signed_v<T>) return static_cast<T>(unzigzag(in.varint()));
  else return static_cast<T>(in.varint());
}

template <class T>
void put_message(std::string& out, const T& v);
template <class T>
void get_message(Reader& in, T& v);

// A nested message is written in place and its length moved in front afterwards.
template <class Fill>
void put_nested(std::string& out, uint32_t number, Fill fill) {
  put_key(out, number, WireType::kBytes);
  const size_t start = out.size();
  fill();
  const size_t length = out.size() - start;
  std::string prefix;
  put_varint(prefix, length);
  out.insert(start, prefix);
}

template <class T>
void put_field(std::string& out, uint32_t number, const T& v) {
  if constexpr (Scalar<T>) {
    put_key(out, number, scalar_type<T>());
    put_scalar(out, v);
  } else if constexpr (std::is_same_v<T, std::string>) {
    put_key(out, number, WireType::kBytes);
    put_varint(out, v.size());
    out += v;
  } else if constexpr (TextCoded<T>) {
    put_field(out, number, TextTraits<T>::to_text(v));
  } else if constexpr (IsOptional<T>::value) {
    if (v) put_field(out, number, *v);
  } else if constexpr (IsShared<T>::value) {
    if (v) put_field(out, number, *v);
  } else if constexpr (IsVector<T>::value) {
    if constexpr (Scalar<typename T::value_type>) {
      put_nested(out, number, [&] {
        for (const auto e : v) put_scalar<typename T::value_type>(out, e);
      });
    } else {
      for (const auto& e : v) put_field(out, number, e);
    }
  } else if constexpr (IsMap<T>::value) {
    for (const auto& entry : v) {
      put_nested(out, number, [&] {
        put_field(out, 1, entry.first);
        put_field(out, 2, entry.second);
      });
    }
  } else {
    put_nested(out, number, [&] { put_message(out, v); });
  }
}

// How many values of this type the bytes are.
template <Scalar T>
size_t packed_count(std::string_view packed) {
  if constexpr (scalar_type<T>() == WireType::kFixed64) return packed.size() / 8;
  // the last byte of each has its high bit clear
  return static_cast<size_t>(
      std::ranges::count_if(packed, [](char byte) { return (byte & 0x80) == 0; }));
}

template <class T>
void get_field(Reader& in, WireType type, T& v) {
  if constexpr (Scalar<T>) {
    if (type == scalar_type<T>()) v = get_scalar<T>(in);
    else in.ok = false;
  } else if constexpr (IsOptional<T>::value) {
    if (!v) v.emplace();
    get_field(in, type, *v);
  } else if constexpr (IsShared<T>::value) {
    if (!in.take_room(sizeof(typename T::element_type))) return;
    auto made = std::make_shared<std::remove_const_t<typename T::element_type>>();
    get_field(in, type, *made);
    v = std::move(made);
  } else if constexpr (IsVector<T>::value) {
    if constexpr (Scalar<typename T::value_type>) {
      if (type == WireType::kBytes) {
        using Item = typename T::value_type;
        const std::string_view packed = in.bytes();
        const size_t count = packed_count<Item>(packed);
        if (!in.take_room(count * sizeof(Item))) return;
        Reader items = in.inside(packed);
        v.reserve(v.size() + count);
        while (items.more()) v.push_back(get_scalar<Item>(items));
        in.ok = in.ok && items.ok;
      } else {
        typename T::value_type one{};
        get_field(in, type, one);
        if (in.take_room(sizeof one)) v.push_back(one);
      }
    } else if (in.take_room(sizeof(typename T::value_type))) {
      get_field(in, type, v.emplace_back());
    }
  } else if (type != WireType::kBytes) {
    in.ok = false;
  } else if constexpr (std::is_same_v<T, std::string>) {
    v = in.bytes();
  } else if constexpr (TextCoded<T>) {
    if (!TextTraits<T>::from_text(in.bytes(), v)) in.ok = false;
  } else {
    Reader nested = in.inside(in.bytes());
    if constexpr (IsMap<T>::value) {
      constexpr size_t kOfTheTree = 48;
      if (!in.take_room(sizeof(typename T::value_type) + kOfTheTree)) return;
      std::string key;
      typename T::mapped_type value{};
      while (nested.more()) {
        const uint64_t tag = nested.varint();
        const auto nested_type = static_cast<WireType>(tag & 7);
        if ((tag >> 3) == 1) get_field(nested, nested_type, key);
        else if ((tag >> 3) == 2) get_field(nested, nested_type, value);
        else nested.skip(nested_type);
      }
      v.insert_or_assign(std::move(key), std::move(value));
    } else {
      get_message(nested, v);
    }
    in.ok = in.ok && nested.ok;
  }
}

template <class T>
bool same_as_default(const T& v, const T& fresh) {
  if constexpr (Scalar<T> || std::is_same_v<T, std::string>) return v == fresh;
  else if constexpr (IsVector<T>::value || IsMap<T>::value) return v.empty();
  else if constexpr (IsOptional<T>::value) return !v.has_value();
  else if constexpr (IsShared<T>::value) return v == nullptr;
  else if constexpr (TextCoded<T> && std::equality_comparable<T>) return v == fresh;
  else return false;
}

template <class T>
const T& fresh_instance() {
  static const T instance{};
  return instance;
}

template <class T>
void put_message(std::string& out, const T& v) {
  if constexpr (Variant<T>) {
    std::visit(
        [&](const auto& alternative) {
          put_field(out, std::decay_t<decltype(alternative)>::kTag, alternative);
        },
        v);
  } else {
    static_assert(Described<T>, "the type has no describe()");
    const T& fresh = fresh_instance<T>();
    T::describe([&](uint32_t number, const char*, auto member) {
      if (!same_as_default(v.*member, fresh.*member)) put_field(out, number, v.*member);
    });
  }
}

template <class T, size_t I = 0>
bool emplace_alternative(T& v, uint32_t tag, Reader& in, WireType type) {
  if constexpr (I < std::variant_size_v<VariantOf<T>>) {
    if (std::variant_alternative_t<I, VariantOf<T>>::kTag == tag) {
      get_field(in, type, v.template emplace<I>());
      return true;
    }
    return emplace_alternative<T, I + 1>(v, tag, in, type);
  } else {
    return false;
  }
}

struct FieldKey {
  uint32_t number = 0;
  WireType type{};
};

// False at the message's end.
inline bool next_key(Reader& in, FieldKey& key) {
  if (!in.more()) return false;
  const uint64_t tag = in.varint();
  key = {static_cast<uint32_t>(tag >> 3), static_cast<WireType>(tag & 7)};
  return true;
}

// Bytes of room that a further pass over a message's fields costs: messages of ours need one, and a
// hostile one with its fields in the wrong order, or with many that are unknown, is given up.
inline constexpr size_t kRoomOfPass = 256;

template <class T>
void get_message(Reader& in, T& v) {
  FieldKey key;
  bool some = next_key(in, key);
  if constexpr (Variant<T>) {
    for (; some; some = next_key(in, key)) {
      // an alternative this version does not know cannot be skipped: its meaning would be lost
      if (!emplace_alternative(v, key.number, in, key.type)) in.ok = false;
    }
  } else {
    // fields come in the order of describe(): one pass takes them all
    for (bool first = true; some; first = false) {
      if (!first && !in.take_room(kRoomOfPass)) return;
      bool known = false;
      T::describe([&](uint32_t number, const char*, auto member) {
        while (some && key.number == number) {
          known = true;
          get_field(in, key.type, v.*member);
          some = next_key(in, key);
        }
      });
      if (known) continue;
      for (const uint32_t unknown = key.number; some && key.number == unknown;) {
        in.skip(key.type);
        some = next_key(in, key);
      }
    }
  }
}

}  // namespace detail

// Appends the bytes of `v` to `out`.
template <class T>
void encode_to(std::string& out, const T& v) {
  detail::put_message(out, v);
}

template <class T>
[[nodiscard]] std::string encode(const T& v) {
  std::string out;
  detail::put_message(out, v);
  return out;
}

// Bytes of elements that a message of this size may come to. No message of ours comes near it.
constexpr size_t decode_room(size_t message_bytes) {
  constexpr size_t kLeast = size_t{1} << 20;
  constexpr size_t kTimes = 32;
  return kLeast + kTimes * message_bytes;
}
// for what this program's own kind wrote to its own disk
inline constexpr size_t kAnyRoom = SIZE_MAX;

// `room` is what may be made, and then what is left of it.
template <class T>
[[nodiscard]] Result<T> decode_within(std::string_view bytes, size_t& room) {
  T v{};
  detail::Reader in{bytes.data(), bytes.data() + bytes.size(), &room};
  detail::get_message(in, v);
  if (!in.ok) return failure(ErrorCode::kBadRequest, "a message cannot be decoded");
  return v;
}

template <class T>
[[nodiscard]] Result<T> decode(std::string_view bytes, size_t room) {
  return decode_within<T>(bytes, room);
}
template <class T>
[[nodiscard]] Result<T> decode(std::string_view bytes) {
  return decode<T>(bytes, decode_room(bytes.size()));
}

}  // namespace sluice::wire
