#include "stepd/mpi/pmix_info.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice::stepd {

void copy_name(char* to, std::string_view from, size_t size) {
  std::memset(to, 0, size);
  std::memcpy(to, from.data(), std::min(from.size(), size - 1));
}

pmix_value_t& PmixInfo::add(std::string_view key, pmix_data_type_t type) {
  pmix_info_t& info = infos_.emplace_back();
  copy_name(info.key, key, sizeof info.key);
  info.value.type = type;
  return info.value;
}

void PmixInfo::text(std::string_view key, std::string value) {
  add(key, PMIX_STRING).data.string = texts_.emplace_back(std::move(value)).data();
}

void PmixInfo::regex(std::string_view key, std::string value) {
  std::string& kept = texts_.emplace_back(std::move(value));
  pmix_byte_object_t& bytes = add(key, PMIX_REGEX).data.bo;
  bytes.bytes = kept.data();
  bytes.size = kept.size();
}

void PmixInfo::given_bytes(std::string_view key, std::string_view value) {
  pmix_byte_object_t& bytes = add(key, PMIX_BYTE_OBJECT).data.bo;
  bytes.bytes = static_cast<char*>(std::malloc(value.size()));
  bytes.size = value.size();
  std::memcpy(bytes.bytes, value.data(), value.size());
}

PmixInfo& PmixInfo::array(std::string_view key) {
  PmixInfo& inner = nested_.emplace_back();
  add(key, PMIX_DATA_ARRAY).data.darray = &arrays_.emplace_back();
  return inner;
}

pmix_info_t* PmixInfo::data() {
  for (size_t i = 0; i < nested_.size(); ++i)
    arrays_[i] = {PMIX_INFO, nested_[i].size(), nested_[i].data()};
  return infos_.data();
}

}  // namespace sluice::stepd
