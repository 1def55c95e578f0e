// libpmix, loaded when a step asks for it: the step daemon's start must not pay for it. Only its
// headers are there when this is built, so their macros that call functions cannot be used.
#pragma once

#include <pmix_server.h>

#include <pmix.h>

#include "common/base/result.hpp"

namespace sluice::stepd {

struct PmixLibrary {
  decltype(&PMIx_server_init) server_init = nullptr;
  decltype(&PMIx_server_finalize) server_finalize = nullptr;
  decltype(&PMIx_server_register_nspace) register_nspace = nullptr;
  decltype(&PMIx_server_register_client) register_client = nullptr;
  decltype(&PMIx_server_setup_fork) setup_fork = nullptr;
  decltype(&PMIx_server_dmodex_request) dmodex_request = nullptr;
  decltype(&PMIx_Register_event_handler) register_event_handler = nullptr;
  decltype(&PMIx_Notify_event) notify_event = nullptr;
  decltype(&PMIx_generate_regex) generate_regex = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
  decltype(&PMIx_Data_pack) data_pack = nullptr;
  decltype(&PMIx_Data_unpack) data_unpack = nullptr;
  decltype(&PMIx_Value_destruct) value_destruct = nullptr;
};

// It stays loaded. The error's text is for the user. `as_root`: one whose server gives files away
// by a path that their new owner can change meanwhile (CVE-2023-41915) is refused.
[[nodiscard]] Result<PmixLibrary> load_pmix(bool as_root);

}  // namespace sluice::stepd
