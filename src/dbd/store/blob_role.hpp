// What a job has of the table of blobs: it tells which rule purges one.
#pragma once

namespace sluice::dbd {

// Stored: add, never renumber.
enum class BlobRole : int {
  kUnknown = 0,  // from before uses were noted
  kScript = 1,
  kEnvironment = 2,
};

}  // namespace sluice::dbd
