#include "common/os/group_list.hpp"

#include <algorithm>

#include <grp.h>

namespace sluice {

std::vector<gid_t> groups_of_user(const std::string& name, gid_t gid, gid_t own) {
  std::vector<gid_t> groups(256);
  int count = static_cast<int>(groups.size());
  if (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(count));
    if (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) groups = {gid}, count = 1;
  }
  groups.resize(static_cast<size_t>(count));
  if (std::ranges::find(groups, own) == groups.end()) groups.push_back(own);
  return groups;
}

}  // namespace sluice
