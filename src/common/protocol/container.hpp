// Between the agent and the programs that make and remove a job's mount namespace:
//   slurmstepd --make-namespace FOLDER UID DIR,DIR… shared|private [SCRIPT]
//   slurmstepd --remove-namespace FOLDER
// FOLDER is BasePath/JOBID. The exit status of the first tells at which step it failed. Descriptor
// 3 of both is the end of a pipe that is closed with their agent. Only one of them works in a
// folder, and none begins when its agent is gone: the next agent takes over what it finds there.
#pragma once

#include <string_view>

namespace sluice::protocol {

inline constexpr const char* kMakeNamespaceMode = "--make-namespace";
inline constexpr const char* kRemoveNamespaceMode = "--remove-namespace";
inline constexpr const char* kNamespaceFile = "/.ns";  // below FOLDER
// below FOLDER: what the job sees as its own
inline constexpr const char* kFoldersFolder = "/.folders";
inline constexpr int kAgentDescriptor = 3;

// Whether mounts of the host go on to the job's namespace.
inline constexpr const char* kSharedMounts = "shared";
inline constexpr const char* kPrivateMounts = "private";

enum NamespaceStep : int {
  kNamespaceMade = 0,
  kNamespaceArguments,
  kNamespaceFolder,  // BasePath/JOBID
  kNamespaceScript,  // InitScript
  kNamespaceUnshare,
  kNamespaceMount,
  kNamespaceKeep,
  kNamespaceAgentGone,
};
[[nodiscard]] inline std::string_view namespace_step_text(int step) {
  switch (step) {
    case kNamespaceFolder: return "its folder in BasePath cannot be made";
    case kNamespaceScript: return "InitScript failed";
    case kNamespaceUnshare: return "no mount namespace can be had";
    case kNamespaceMount: return "its folders cannot be mounted";
    case kNamespaceAgentGone: return "its agent is gone";
    case kNamespaceKeep: return "its mount namespace cannot be kept";
    default: return "the program that makes it failed";
  }
}

}  // namespace sluice::protocol
