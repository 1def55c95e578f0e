// Result<T>: a value, or an Error with Slurm's error code and a text for the user.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "common/base/error_code.hpp"

namespace sluice {

// What went wrong and where. `code` decides exit statuses and retries; `text` is shown to people.
// An empty `text` stands for the code's own sentence (tables/errors.hpp).
struct Error {
  ErrorCode code = ErrorCode::kError;
  std::string text;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> failure(ErrorCode code, std::string text = {}) {
  return tl::unexpected<Error>(Error{code, std::move(text)});
}
[[nodiscard]] inline tl::unexpected<Error> failure(std::string text) {
  return failure(ErrorCode::kError, std::move(text));
}

}  // namespace sluice
