#include "stepd/mpi/pmix_library.hpp"

#include <array>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

constexpr const char* kLibrary = "libpmix.so.2";  // of PMIx 3, 4 and 5

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

// What the dynamic section of a loaded library says.
struct DynamicPart {
  const char* names = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const uint32_t* gnu_hash = nullptr;
};

DynamicPart dynamic_part(const link_map& map) {
  DynamicPart out;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    // the loader has made addresses of these
    if (entry->d_tag == DT_STRTAB) out.names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) out.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) out.gnu_hash = reinterpret_cast<const uint32_t*>(entry->d_un.d_ptr);
  }
  return out;
}

Status check_race(void* library) {
  const char* (*get_version)() = nullptr;
  const std::string_view version = find(library, "PMIx_Get_version", get_version) ? get_version() : "";
  const bool mended = is_mended_pmix(version) || (imports(library, "lchown") && !imports(library, "chown"));
  if (mended) return {};
  return failure(fmt::format("mpi/pmix: {} ({}) lets users have any file given to them (CVE-2023-41915): 4.2.6, 5.0.1 or a "
                             "distribution's mended one is wanted", kLibrary, version));
}

}  // namespace

bool is_mended_pmix(std::string_view version) {
  const size_t at = version.find_first_of("0123456789");
  if (at == std::string_view::npos) return false;
  const std::string_view number = version.substr(at);
  const std::vector<std::string> parts = split(number.substr(0, number.find_first_not_of("0123456789.")), '.');
  std::array<uint32_t, 3> numbers{};
  for (size_t i = 0; i < numbers.size() && i < parts.size(); ++i) numbers[i] = to_number<uint32_t>(parts[i]).value_or(0);
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

Result<PmixLibrary> load_pmix(bool as_root) {
  // its parts, loaded by itself, look for its symbols
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return failure(fmt::format("mpi/pmix: {}", ::dlerror()));  // NOLINT(concurrency-mt-unsafe): one thread yet
  }
  PmixLibrary out;
  const bool complete = find(library, "PMIx_server_init", out.server_init) &&
                        find(library, "PMIx_server_finalize", out.server_finalize) &&
                        find(library, "PMIx_server_register_nspace", out.register_nspace) &&
                        find(library, "PMIx_server_register_client", out.register_client) &&
                        find(library, "PMIx_server_setup_fork", out.setup_fork) &&
                        find(library, "PMIx_server_dmodex_request", out.dmodex_request) &&
                        find(library, "PMIx_Register_event_handler", out.register_event_handler) &&
                        find(library, "PMIx_Notify_event", out.notify_event) &&
                        find(library, "PMIx_generate_regex", out.generate_regex) &&
                        find(library, "PMIx_Error_string", out.error_string) &&
                        find(library, "PMIx_Data_pack", out.data_pack) &&
                        find(library, "PMIx_Data_unpack", out.data_unpack) &&
                        find(library, "PMIx_Value_destruct", out.value_destruct);
  if (!complete) return failure(fmt::format("mpi/pmix: {} lacks a function", kLibrary));
  if (Status safe = as_root ? check_race(library) : Status(); !safe) return tl::unexpected<Error>(safe.error());
  return out;
}

}  // namespace sluice::stepd
