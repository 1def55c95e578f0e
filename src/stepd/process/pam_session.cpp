#include "stepd/process/pam_session.hpp"

#include <cstdlib>
#include <type_traits>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <security/pam_appl.h>
#include <sys/stat.h>

#include "stepd/process/resource_limits.hpp"

namespace sluice::stepd {
namespace {

constexpr const char* kLibrary = "libpam.so.0";
constexpr const char* kService = "slurm";

// Nobody can be asked: a module that wants a password does not get one. What modules tell is not
// passed on.
int converse(int count, const pam_message** messages, pam_response** answers, void*) {
  if (count <= 0 || count > PAM_MAX_NUM_MSG) return PAM_CONV_ERR;
  for (int i = 0; i < count; ++i) {
    const int style = messages[i]->msg_style;
    if (style != PAM_TEXT_INFO && style != PAM_ERROR_MSG) return PAM_CONV_ERR;
  }
  // libpam frees it
  *answers =
      static_cast<pam_response*>(std::calloc(static_cast<size_t>(count), sizeof(pam_response)));
  return *answers == nullptr ? PAM_BUF_ERR : PAM_SUCCESS;
}

// What modules change of this process and tasks get in another way.
class KeepOwn {
 public:
  KeepOwn() : limits_(own_limits()), umask_(::umask(022)) { ::umask(umask_); }
  ~KeepOwn() {
    set_limits(limits_);
    ::umask(umask_);
  }
  KeepOwn(const KeepOwn&) = delete;
  KeepOwn& operator=(const KeepOwn&) = delete;

 private:
  std::vector<uint64_t> limits_;
  mode_t umask_;
};

}  // namespace

struct PamSession::Library {
  int (*start)(const char*, const char*, const pam_conv*, pam_handle_t**) = nullptr;
  int (*set_item)(pam_handle_t*, int, const void*) = nullptr;
  int (*setcred)(pam_handle_t*, int) = nullptr;
  int (*open_session)(pam_handle_t*, int) = nullptr;
  int (*close_session)(pam_handle_t*, int) = nullptr;
  int (*end)(pam_handle_t*, int) = nullptr;
  const char* (*error_text)(pam_handle_t*, int) = nullptr;
  pam_conv conversation{converse, nullptr};
  pam_handle_t* handle = nullptr;

  Status load() {
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    if (library == nullptr) return failure(fmt::format("PAM: {}", ::dlerror()));
    const auto find = [&](const char* name, auto& out) {
      out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(::dlsym(library, name));
      return out != nullptr;
    };
    const bool complete = find("pam_start", start) && find("pam_set_item", set_item) &&
                          find("pam_setcred", setcred) && find("pam_open_session", open_session) &&
                          find("pam_close_session", close_session) && find("pam_end", end) &&
                          find("pam_strerror", error_text);
    return complete ? Status() : failure(fmt::format("PAM: {} lacks a function", kLibrary));
  }

  // Of a call that gave `code`, for the service's user.
  [[nodiscard]] Status judge(const char* call, int code) const {
    if (code == PAM_SUCCESS) return {};
    return failure(fmt::format("cannot open the PAM session (service {}): {}: {}", kService, call,
                               error_text(handle, code)));
  }
};

Result<std::unique_ptr<PamSession>> PamSession::open(const std::string& user,
                                                     const std::string& submit_host) {
  std::unique_ptr<PamSession> session(new PamSession());
  session->library_ = std::make_unique<Library>();
  if (Status loaded = session->library_->load(); !loaded)
    return tl::unexpected<Error>(loaded.error());
  const KeepOwn keep;
  if (Status begun = session->begin(user, submit_host); !begun)
    return tl::unexpected<Error>(begun.error());
  session->limits_ = own_limits();
  return session;
}

Status PamSession::begin(const std::string& user, const std::string& submit_host) {
  Library& pam = *library_;
  if (Status ok =
          pam.judge("pam_start", pam.start(kService, user.c_str(), &pam.conversation, &pam.handle));
      !ok)
    return ok;
  // there is neither a terminal nor a login from elsewhere; modules that look for them find whose
  // job it is
  const std::pair<int, const std::string> items[] = {
      {PAM_RUSER, user}, {PAM_RHOST, submit_host}, {PAM_TTY, kService}};
  for (const auto& [item, text] : items) {
    if (text.empty()) continue;
    if (Status ok = pam.judge("pam_set_item", pam.set_item(pam.handle, item, text.c_str())); !ok)
      return ok;
  }
  if (Status ok = pam.judge("pam_setcred", pam.setcred(pam.handle, PAM_ESTABLISH_CRED)); !ok)
    return ok;
  has_credentials_ = true;
  if (Status ok = pam.judge("pam_open_session", pam.open_session(pam.handle, 0)); !ok) return ok;
  is_open_ = true;
  return {};
}

PamSession::~PamSession() {
  if (library_ == nullptr || library_->handle == nullptr) return;
  const KeepOwn keep;
  int last = PAM_SUCCESS;
  if (is_open_) last = library_->close_session(library_->handle, 0);
  if (has_credentials_) last = library_->setcred(library_->handle, PAM_DELETE_CRED);
  library_->end(library_->handle, last);
}

}  // namespace sluice::stepd
