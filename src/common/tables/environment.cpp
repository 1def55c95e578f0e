#include "common/tables/environment.hpp"

#include <algorithm>
#include <utility>

namespace sluice {

Environment Environment::from_block(std::string_view block) {
  Environment made;
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    made.set(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return made;
}

void Environment::set(std::string_view name, std::string_view value) {
  std::string entry;
  entry.reserve(name.size() + value.size() + 1);
  entry.append(name).append("=").append(value);
  const auto [place, fresh] = places_.try_emplace(std::string(name), entries_.size());
  if (fresh) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[place->second] = std::move(entry);
  }
}

void Environment::set_default(std::string_view name, std::string_view value) {
  if (!has(name)) set(name, value);
}

void Environment::unset(std::string_view name) {
  const auto place = places_.find(std::string(name));
  if (place == places_.end()) return;
  entries_[place->second].clear();
  places_.erase(place);
}

std::string_view Environment::get(std::string_view name) const {
  const auto place = places_.find(std::string(name));
  if (place == places_.end()) return {};
  return std::string_view(entries_[place->second]).substr(name.size() + 1);
}

bool Environment::has(std::string_view name) const {
  return places_.contains(std::string(name));
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> out;
  out.reserve(entries_.size());
  for (const std::string& entry : entries_) {
    if (!entry.empty()) out.push_back(entry);
  }
  return out;
}

std::string Environment::to_block() const {
  std::string out;
  for (const std::string& entry : entries_) {
    if (!entry.empty()) out.append(entry).push_back('\0');
  }
  return out;
}

}  // namespace sluice
