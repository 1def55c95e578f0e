#include "stepd/mpi/pmix_race.hpp"

#include <array>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

// What the dynamic section of a loaded library says.
struct DynamicPart {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const uint32_t* gnu_hash = nullptr;
};

DynamicPart dynamic_part(const link_map& map) {
  DynamicPart out;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    // the loader has made addresses of these
    // NOLINTBEGIN(performance-no-int-to-ptr)
    if (entry->d_tag == DT_STRTAB) out.names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB)
      out.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH)
      out.gnu_hash = reinterpret_cast<const uint32_t*>(entry->d_un.d_ptr);
    // NOLINTEND(performance-no-int-to-ptr)
  }
  return out;
}

}  // namespace

bool is_mended_pmix(std::string_view version) {
  const size_t at = version.find_first_of("0123456789");
  if (at == std::string_view::npos) return false;
  const std::string_view number = version.substr(at);
  const std::vector<std::string> parts =
      split(number.substr(0, number.find_first_not_of("0123456789.")), '.');
  std::array<uint32_t, 3> numbers{};
  for (size_t i = 0; i < numbers.size() && i < parts.size(); ++i)
    numbers[i] = to_number<uint32_t>(parts[i]).value_or(0);
  if (numbers[0] == 4) return numbers >= std::array<uint32_t, 3>{4, 2, 6};
  return numbers >= std::array<uint32_t, 3>{5, 0, 1};
}

bool imports(void* library, std::string_view function) {
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return false;
  const DynamicPart part = dynamic_part(*map);
  if (part.names == nullptr || part.symbols == nullptr || part.gnu_hash == nullptr) return false;
  // imports are in no hash table, and stand before what is: its second word is where that begins
  for (uint32_t i = 1; i < part.gnu_hash[1]; ++i) {
    const ElfW(Sym)& symbol = part.symbols[i];
    if (symbol.st_shndx == SHN_UNDEF && function == part.names + symbol.st_name) return true;
  }
  return false;
}

Status check_pmix_race(void* library) {
  auto* const get_version =
      reinterpret_cast<const char* (*)()>(::dlsym(library, "PMIx_Get_version"));
  const std::string_view version = get_version != nullptr ? get_version() : "";
  const bool mended =
      is_mended_pmix(version) || (imports(library, "lchown") && !imports(library, "chown"));
  if (mended) return {};
  return failure(fmt::format(
      "mpi/pmix: libpmix ({}) lets users have any file given to them (CVE-2023-41915): 4.2.6, 5.0.1 or a "
      "distribution's mended one is wanted",
      version));
}

}  // namespace sluice::stepd
