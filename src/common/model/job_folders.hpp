// job_container/tmpfs: what a job has for itself where Dirs of job_container.conf is not set.
#pragma once

namespace sluice {

inline constexpr const char* kUsualJobFolders = "/tmp,/dev/shm";  // Dirs

}  // namespace sluice
