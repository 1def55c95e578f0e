// Options as a command line gives them.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "common/submit/submit_options.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice {

inline OptionResult apply(Submission& s, const char* name, const char* value, CommandSet command,
                          bool by_root = true) {
  OptionInput input;
  input.by_root = by_root;
  input.option = find_submit_option(name, command);
  EXPECT_NE(input.option, nullptr) << name;
  input.has_value = value != nullptr;
  input.value = value != nullptr ? value : "";
  input.command = command;
  input.now = from_seconds(1800000000);
  input.folder = "/home/u";
  return input.option->set(s, input);
}

inline std::string fault(const char* name, const char* value, CommandSet command = kSbatch) {
  Submission s;
  const OptionResult result = apply(s, name, value, command);
  return result ? "" : result.error().errors.back();
}

}  // namespace sluice
