// docs/compatibility.md is what the tables say, and "supported" always names a test.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/compatibility.hpp"

namespace sluice::cli {
namespace {

TEST(Compatibility, ThePageIsInStep) {
  std::ifstream file("docs/compatibility.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), compatibility_text())
      << "run: sluice compatibility > docs/compatibility.md";
}

TEST(Compatibility, SupportedNamesATestThatIsThere) {
  std::ifstream query("tests/system/test_query.py");
  std::ifstream batch("tests/system/test_batch.py");
  std::ostringstream tests;
  tests << query.rdbuf() << batch.rdbuf();
  for (const CompatibilityRow& row : compatibility_rows()) {
    EXPECT_EQ(row.support == Support::kSupported, !row.test.empty()) << row.what;
    if (row.test.empty()) continue;
    const std::string name(row.test.substr(row.test.find(' ') + 1));
    EXPECT_NE(tests.str().find("def " + name + "("), std::string::npos) << row.test;
  }
}

}  // namespace
}  // namespace sluice::cli
