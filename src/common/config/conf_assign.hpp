// One pair into its key's member, with the checks and messages all files share.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/config/keys/conf_keys.hpp"
#include "common/config/conf_syntax.hpp"
#include "common/config/keys/conf_value.hpp"

namespace sluice::tables {

[[nodiscard]] inline Status bad_value(const ConfLine& line, const ConfPair& pair,
                                      const ConfRule& rule) {
  if (const std::string option = bad_count(rule, pair.value); !option.empty()) {
    return conf_failure(
        line, fmt::format("{}: {} is not valid; allowed: a number, 0 or more", pair.key, option));
  }
  return conf_failure(line, fmt::format("{}=\"{}\" is not valid; allowed: {}", pair.key, pair.value,
                                        allowed_values(rule)));
}

// Whether a key of this effect, set to `value`, deserves a word that nothing comes of it: not when
// it only says what would be anyway.
template <class Owner>
[[nodiscard]] bool is_without_effect(const ConfKey<Owner>& row, std::string_view value) {
  return row.effect != ConfEffect::kActs && !iequals(value, row.fallback) &&
         !value.ends_with("/none") && !iequals(value, "none") && !value.empty();
}

// What is in a value, and nothing comes of it although the key acts.
template <class Owner>
[[nodiscard]] std::vector<std::string> idle_options(const ConfKey<Owner>& row,
                                                    const ConfValue& value) {
  std::vector<std::string> idle;
  if (row.acting.empty()) return idle;
  const std::vector<std::string> acting = split_list(row.acting),
                                 needless = split_list(row.needless);
  for (const std::string& option : value.items.empty() ? std::vector{value.text} : value.items) {
    const std::string name = option.substr(0, option.find_first_of("=:"));
    if (!has_option(acting, name) && !has_option(needless, name)) idle.push_back(name);
  }
  return idle;
}

// Sets the member. `section` ("NodeName.", "cgroup.conf.", or nothing) stands before names in
// `without_effect`.
template <class Owner>
[[nodiscard]] Status assign_pair(const ConfLine& line, const ConfPair& pair,
                                 const ConfKey<Owner>& row, Owner& owner, std::string_view section,
                                 std::vector<std::string>& without_effect) {
  const ConfRule rule = rule_of(row);
  std::vector<std::string> unknown;
  const std::optional<ConfValue> value = parse_conf_value(rule, pair.value, &unknown);
  if (!value || (row.set && !row.set(owner, *value))) return bad_value(line, pair, rule);
  if (is_without_effect(row, value->text)) {
    without_effect.push_back(fmt::format("{}{}", section, row.name));
  }
  std::vector<std::string> idle = idle_options(row, *value);
  idle.insert(idle.end(), unknown.begin(), unknown.end());
  for (const std::string& option : idle) {
    without_effect.push_back(fmt::format("{}{}={}", section, row.name, option));
  }
  return {};
}

// Sets every pair from `first` on by the keys of one line kind, also behind one that is refused.
template <class Owner, class Keys>
[[nodiscard]] Status assign_line(const ConfLine& line, const std::vector<ConfPair>& pairs,
                                 size_t first, const Keys& keys, Owner& owner,
                                 std::vector<std::string>& without_effect) {
  const std::string section = fmt::format("{}.", keys.front().name);
  ConfErrors errors;
  for (size_t i = first; i < pairs.size(); ++i) {
    const auto* row = find_key(keys, pairs[i].key);
    if (row) {
      errors.add(assign_pair(line, pairs[i], *row, owner, section, without_effect));
    } else {
      errors.add(
          conf_failure(line, fmt::format("unknown key \"{}\" in a {} line{}", pairs[i].key,
                                         keys.front().name, did_you_mean_key(pairs[i].key, keys))));
    }
  }
  return errors.status();
}

}  // namespace sluice::tables
