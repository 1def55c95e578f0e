// A job's own mount namespace, where it has its own /tmp.
#pragma once

#include <string>

namespace sluice::stepd {

// Takes this process of one thread into the namespace of `file`; nothing for no file. 0 or an
// errno.
[[nodiscard]] int enter_mount_namespace(const std::string& file);

// While it lives, this process is in that namespace: for files that are the job's. It must have one
// thread.
class MountNamespaceScope {
 public:
  explicit MountNamespaceScope(const std::string& file);
  ~MountNamespaceScope();
  MountNamespaceScope(const MountNamespaceScope&) = delete;
  MountNamespaceScope& operator=(const MountNamespaceScope&) = delete;
  [[nodiscard]] int error() const { return error_; }  // an errno, when it could not be entered

 private:
  int own_ = -1;  // -1: nothing to go back to
  int error_ = 0;
};

}  // namespace sluice::stepd
