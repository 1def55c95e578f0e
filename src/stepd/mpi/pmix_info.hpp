// An array of pmix_info_t with all that its values point to.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <pmix_common.h>

namespace sluice::stepd {

class PmixInfo {
 public:
  PmixInfo() = default;
  PmixInfo(const PmixInfo&) = delete;
  PmixInfo& operator=(const PmixInfo&) = delete;

  void reserve(size_t count) { infos_.reserve(count); }
  void text(std::string_view key, std::string value);
  // A list as PMIx_generate_regex() makes it, with its ending NUL.
  void regex(std::string_view key, std::string value);
  void flag(std::string_view key, bool value) { add(key, PMIX_BOOL).data.flag = value; }
  void number16(std::string_view key, uint16_t value) { add(key, PMIX_UINT16).data.uint16 = value; }
  void number(std::string_view key, uint32_t value) { add(key, PMIX_UINT32).data.uint32 = value; }
  void size(std::string_view key, size_t value) { add(key, PMIX_SIZE).data.size = value; }
  // Bytes that libpmix takes and frees itself.
  void given_bytes(std::string_view key, std::string_view value);
  void rank(std::string_view key, pmix_rank_t value) { add(key, PMIX_PROC_RANK).data.rank = value; }
  // A new array as the value; fill it before anything else is added.
  PmixInfo& array(std::string_view key);

  // Good until something is added.
  [[nodiscard]] pmix_info_t* data();
  [[nodiscard]] size_t size() const { return infos_.size(); }

 private:
  pmix_value_t& add(std::string_view key, pmix_data_type_t type);

  std::vector<pmix_info_t> infos_;
  std::deque<std::string> texts_;
  std::deque<PmixInfo> nested_;
  std::deque<pmix_data_array_t> arrays_;  // of nested_, in its order
};

// `to` has room for `size` bytes and gets as much as fits before an ending NUL.
void copy_name(char* to, std::string_view from, size_t size);

}  // namespace sluice::stepd
