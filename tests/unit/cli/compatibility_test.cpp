// docs/compatibility.md is what the tables say, and "supported" always names a test.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "cli/compatibility.hpp"
#include "common/tables/submit_options.hpp"

namespace sluice::cli {
namespace {

TEST(Compatibility, ThePageIsInStep) {
  std::ifstream file("docs/compatibility.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), compatibility_text())
      << "run: sluice compatibility > docs/compatibility.md";
}

TEST(Compatibility, SupportedNamesATest) {
  for (const CompatibilityRow& row : compatibility_rows()) {
    EXPECT_EQ(row.support == Support::kSupported, !row.test.empty()) << row.what;
  }
}

TEST(Compatibility, WhatDoesNotActNamesItsSubject) {
  for (const CompatibilityRow& row : compatibility_rows()) {
    const bool acts = row.support == Support::kSupported || row.support == Support::kUntested;
    EXPECT_EQ(acts, row.subject.empty()) << row.command << " " << row.what;
  }
  for (const SubmitOption& option : submit_options()) {
    EXPECT_EQ(option.status == OptionStatus::kActs, option.subject.empty()) << option.name;
  }
}

// `system:FILE Class.test`: the method is in tests/system/test_FILE.py.
TEST(Compatibility, SystemTestsThatAreNamedAreThere) {
  const std::string text = compatibility_text();
  const std::regex named("`system:(\\w+) ([\\w.]+)`");
  size_t found = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at, ++found) {
    std::ifstream file("tests/system/test_" + (*at)[1].str() + ".py");
    std::ostringstream tests;
    tests << file.rdbuf();
    const std::string name = (*at)[2].str();
    const std::string method = name.substr(name.rfind('.') + 1);  // npos + 1: all of it
    EXPECT_NE(tests.str().find("def " + method + "("), std::string::npos) << at->str();
  }
  EXPECT_GT(found, 100U);
}

}  // namespace
}  // namespace sluice::cli
