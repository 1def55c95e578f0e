#include "stepd/mpi/pmix_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "stepd/mpi/pmix_race.hpp"

namespace sluice::stepd {
namespace {

constexpr const char* kLibrary = "libpmix.so.2";  // of PMIx 3, 4 and 5

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace

Result<PmixLibrary> load_pmix(bool as_root) {
  // its parts, loaded by itself, look for its symbols
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread yet
    return failure(fmt::format("mpi/pmix: {}", ::dlerror()));
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
  if (Status safe = as_root ? check_pmix_race(library) : Status(); !safe)
    return tl::unexpected<Error>(safe.error());
  return out;
}

}  // namespace sluice::stepd
