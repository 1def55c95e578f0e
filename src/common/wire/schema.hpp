// Described structs as a protobuf schema (proto2, which knows defaults other than zero), so that
// any protobuf implementation can read what wire/codec.hpp writes. Text is `bytes`: users' text
// need not be UTF-8.
//
//   SchemaPrinter printer;
//   printer.message<SubmitJobRequest>();   // and everything it refers to
//   printer.text("sluice.v1", "What …");
//
// Types that several files need stand once, in a file of their own that the others import:
//
//   SchemaPrinter common;
//   SchemaPrinter printer(SchemaPrinter::Import{&common, types_of_several_files, "common", ""});
//
// An enumeration whose value 0 has a name is printed with the names of its values from 0 to 127:
// kNodeFail of JobState is JOB_STATE_NODE_FAIL.
#pragma once

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/check.hpp"
#include "common/wire/codec.hpp"

namespace sluice::wire {

namespace detail {

// The type's name without namespaces; a nested one follows its owner's: "JobStartedStart".
std::string short_name(std::string_view pretty_function);

template <class T>
std::string type_name() {
  return short_name(__PRETTY_FUNCTION__);
}

template <auto kValue>
constexpr std::string_view value_text() {
  return __PRETTY_FUNCTION__;
}
// "kNodeFail" of JobState::kNodeFail; empty: the value has no name.
std::string enumerator(std::string_view pretty_function);
// "NodeFail" -> "NODE_FAIL"
std::string upper_case(std::string_view name);

// The names of an enumeration's values from 0 to 127, without k; empty: it has none.
template <class T>
std::vector<std::string> enumerators() {
  std::vector<std::string> names;
  [&]<size_t... I>(std::index_sequence<I...>) {
    (names.push_back(enumerator(value_text<static_cast<T>(I)>())), ...);
  }
  (std::make_index_sequence<128>());
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}
template <class T>
bool has_named_values() {
  if constexpr (std::is_enum_v<T>) return !enumerator(value_text<T{}>()).empty();
  else return false;
}

// "node_list" -> "NodeList"
std::string camel_case(std::string_view name);
// As a quoted literal of the schema language.
std::string quoted(std::string_view text);

template <class T>
std::string_view scalar_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_same_v<T, double>) return "double";
  else if constexpr (std::is_same_v<T, Time> || std::is_same_v<T, Duration>) return "sint64";
  else if constexpr (std::is_enum_v<T>) return scalar_name<std::underlying_type_t<T>>();
  else if constexpr (std::is_signed_v<T>) return sizeof(T) == 8 ? "sint64" : "sint32";
  else return sizeof(T) == 8 ? "uint64" : "uint32";
}

template <class T>
std::string scalar_default(const T& v) {
  if constexpr (std::is_same_v<T, bool>) return v ? "true" : "";
  else if constexpr (std::is_same_v<T, Time>) return scalar_default(v.time_since_epoch().count());
  else if constexpr (std::is_same_v<T, Duration>) return scalar_default(v.count());
  else if constexpr (std::is_enum_v<T>) {
    if (!has_named_values<T>()) return scalar_default(static_cast<uint64_t>(v));
    const auto number = static_cast<size_t>(v);
    const std::vector<std::string> names = enumerators<T>();
    SLUICE_CHECK(number < names.size() && !names[number].empty());
    return number == 0 ? "" : upper_case(type_name<T>()) + "_" + upper_case(names[number]);
  } else if constexpr (std::is_same_v<T, double>) {
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    return v == 0 ? "" : fmt::format("{}", v);
  } else return v == T{} ? "" : fmt::format("{}", v);
}

template <class T>
std::string_view scalar_remark() {
  if constexpr (std::is_same_v<T, Time>) return "  // microseconds since 1970, UTC";
  else if constexpr (std::is_same_v<T, Duration>) return "  // microseconds";
  else return "";
}

}  // namespace detail

class SchemaPrinter {
 public:
  // Another file, which this one imports: messages of `types` are added there. It is "NAME.proto";
  // its package is named by `prefix` ("sluice.v1."), which is empty where it is this one's.
  struct Import {
    SchemaPrinter* printer = nullptr;
    std::set<std::type_index> types;  // with all that these refer to
    std::string name;
    std::string prefix;
  };
  SchemaPrinter() = default;
  explicit SchemaPrinter(Import import) : import_(std::move(import)) {}

  // Adds the message of T (a described struct, or a variant, which then needs a name) and of all
  // that it refers to. Gives the message's name.
  template <class T>
  std::string message(std::string name = {});

  // Whose messages were added.
  [[nodiscard]] std::set<std::type_index> types() const;

  // The file. `purpose` goes into its opening comment.
  [[nodiscard]] std::string text(std::string_view package, std::string_view purpose) const;

 private:
  template <class T>
  std::string enumeration();
  template <class T>
  std::string type_of(const std::string& owner, const char* field);
  template <class T>
  std::string field(const std::string& owner, uint32_t number, const char* name, const T& fresh);

  // A place in the file, in the order of first mention.
  size_t reserve(std::type_index type, const std::string& name);

  Import import_;
  bool imports_ = false;  // something that was added refers to the import
  std::map<std::type_index, std::string> names_;
  std::vector<std::pair<std::string, std::string>> messages_;  // name, text
};

template <class T>
std::string SchemaPrinter::message(std::string name) {
  using namespace detail;  // NOLINT(google-build-using-namespace): the codec's traits
  const auto known = names_.find(typeid(T));
  if (known != names_.end()) return known->second;
  if (import_.types.count(typeid(T)) != 0) {
    imports_ = true;
    return import_.prefix + import_.printer->message<T>(std::move(name));
  }
  if (name.empty()) name = type_name<T>();
  const size_t place = reserve(typeid(T), name);
  std::string body;
  if constexpr (Variant<T>) {
    body = "  oneof kind {\n";
    [&]<class... A>(std::type_identity<std::variant<A...>>) {
      ((body += fmt::format("    {} {} = {};\n", message<A>(), A::kName, A::kTag)), ...);
    }(std::type_identity<VariantOf<T>>());
    body += "  }\n";
  } else {
    static_assert(Described<T>, "the type has no describe()");
    const T& fresh = fresh_instance<T>();
    if constexpr (requires { T::kRetired; })
      body = fmt::format("  reserved {};\n", fmt::join(T::kRetired, ", "));
    T::describe([&](uint32_t number, const char* field_name, auto member) {
      body += field(name, number, field_name, fresh.*member);
    });
  }
  messages_[place].second = fmt::format("message {} {{\n{}}}\n", name, body);
  return name;
}

template <class T>
std::string SchemaPrinter::enumeration() {
  using namespace detail;  // NOLINT(google-build-using-namespace): the codec's traits
  const auto known = names_.find(typeid(T));
  if (known != names_.end()) return known->second;
  if (import_.types.count(typeid(T)) != 0) {
    imports_ = true;
    return import_.prefix + import_.printer->enumeration<T>();
  }
  const std::string name = type_name<T>();
  const size_t place = reserve(typeid(T), name);
  std::string body;
  const std::vector<std::string> names = enumerators<T>();
  for (size_t number = 0; number < names.size(); ++number) {
    if (!names[number].empty())
      body += fmt::format("  {}_{} = {};\n", upper_case(name), upper_case(names[number]), number);
  }
  messages_[place].second = fmt::format("enum {} {{\n{}}}\n", name, body);
  return name;
}

template <class T>
std::string SchemaPrinter::type_of(const std::string& owner, const char* field) {
  using namespace detail;  // NOLINT(google-build-using-namespace): the codec's traits
  if constexpr (std::is_enum_v<T>) {
    if (has_named_values<T>()) return enumeration<T>();
  }
  if constexpr (Scalar<T>) return std::string(scalar_name<T>());
  else if constexpr (std::is_same_v<T, std::string> || TextCoded<T>) return "bytes";
  else if constexpr (IsShared<T>::value)
    return type_of<std::remove_const_t<typename T::element_type>>(owner, field);
  else if constexpr (Variant<T>) return message<T>(owner + camel_case(field));
  else return message<T>();
}

template <class T>
std::string SchemaPrinter::field(const std::string& owner, uint32_t number, const char* name,
                                 const T& fresh) {
  using namespace detail;  // NOLINT(google-build-using-namespace): the codec's traits
  if constexpr (IsVector<T>::value) {
    using Item = typename T::value_type;
    return fmt::format("  repeated {} {} = {}{};\n", type_of<Item>(owner, name), name, number,
                       Scalar<Item> ? " [packed = true]" : "");
  } else if constexpr (IsMap<T>::value) {
    return fmt::format("  map<string, {}> {} = {};\n",
                       type_of<typename T::mapped_type>(owner, name), name, number);
  } else if constexpr (IsOptional<T>::value) {
    return field(owner, number, name, typename T::value_type{});
  } else {
    std::string initial;
    std::string_view remark;
    if constexpr (Scalar<T>) {
      initial = scalar_default(fresh);
      remark = scalar_remark<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!fresh.empty()) initial = quoted(fresh);
    } else if constexpr (TextCoded<T>) {
      const std::string text = TextTraits<T>::to_text(fresh);
      if (!text.empty()) initial = quoted(text);
    }
    if (!initial.empty()) initial = fmt::format(" [default = {}]", initial);
    return fmt::format("  optional {} {} = {}{};{}\n", type_of<T>(owner, name), name, number,
                       initial, remark);
  }
}

}  // namespace sluice::wire
