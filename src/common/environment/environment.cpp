#include "common/environment/environment.hpp"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

std::string_view name_of(const SharedText& entry) {
  return entry.view().substr(0, entry.view().find('='));
}

}  // namespace

Environment Environment::from_block(std::string_view block) {
  Environment made;
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    made.by_name_.push_back(static_cast<uint32_t>(made.entries_.size()));
    made.entries_.emplace_back(std::string(entry));
  }
  made.sort_by_name();
  return made;
}

// Once for all: one by one, many names take the square of their number. Of equal names the last
// counts, in the place of the first.
void Environment::sort_by_name() {
  const auto name = [this](uint32_t i) { return name_of(entries_[i]); };
  std::ranges::stable_sort(by_name_, {}, name);
  size_t kept = 0;
  for (const uint32_t i : by_name_) {
    if (kept > 0 && name(by_name_[kept - 1]) == name(i))
      entries_[by_name_[kept - 1]] = std::exchange(entries_[i], {});
    else by_name_[kept++] = i;
  }
  by_name_.resize(kept);
}

std::vector<uint32_t>::const_iterator Environment::place(std::string_view name) const {
  return std::ranges::lower_bound(by_name_, name, {},
                                  [&](uint32_t i) { return name_of(entries_[i]); });
}

const SharedText* Environment::find(std::string_view name) const {
  const auto at = place(name);
  return at != by_name_.end() && name_of(entries_[*at]) == name ? &entries_[*at] : nullptr;
}

void Environment::set(std::string_view name, std::string_view value) {
  std::string entry;
  entry.reserve(name.size() + value.size() + 1);
  entry.append(name).append("=").append(value);
  const auto at = place(name);
  if (at != by_name_.end() && name_of(entries_[*at]) == name) {
    entries_[*at] = entry;
    return;
  }
  by_name_.insert(at, static_cast<uint32_t>(entries_.size()));
  entries_.emplace_back(entry);
}

void Environment::set_default(std::string_view name, std::string_view value) {
  if (!has(name)) set(name, value);
}

void Environment::unset(std::string_view name) {
  const auto at = place(name);
  if (at == by_name_.end() || name_of(entries_[*at]) != name) return;
  entries_[*at] = {};
  by_name_.erase(at);
}

std::string_view Environment::get(std::string_view name) const {
  const SharedText* entry = find(name);
  return entry == nullptr ? std::string_view() : entry->view().substr(name.size() + 1);
}

bool Environment::has(std::string_view name) const { return find(name) != nullptr; }

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> out;
  out.reserve(entries_.size());
  for (const SharedText& entry : entries_) {
    if (!entry.empty()) out.push_back(entry.str());
  }
  return out;
}

std::vector<char*> Environment::exec_pointers() const {
  std::vector<char*> out;
  out.reserve(entries_.size() + 1);
  for (const SharedText& entry : entries_) {
    if (!entry.empty()) out.push_back(const_cast<char*>(entry.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

std::string Environment::to_block() const {
  std::string out;
  for (const SharedText& entry : entries_) {
    if (!entry.empty()) out.append(entry.view()).push_back('\0');
  }
  return out;
}

}  // namespace sluice
