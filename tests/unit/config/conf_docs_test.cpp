// docs/configuration.md is in step with the tables, and the example configuration is a good one.
// UPDATE_DOCS=1 in the environment writes the page's tables anew.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "common/config/conf_markdown.hpp"
#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

constexpr const char* kPage = "docs/configuration.md";

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(ConfDocs, ThePageHasTheTables) {
  std::string page = file_text(kPage);
  const size_t start = page.find(kConfMarkdownStart);
  ASSERT_NE(start, std::string::npos);
  if (std::getenv("UPDATE_DOCS")) {
    page.replace(start, std::string::npos, conf_keys_markdown());
    std::ofstream(kPage) << page;
  }
  EXPECT_TRUE(page.substr(start) == conf_keys_markdown())
      << kPage << " is out of step: run this test with UPDATE_DOCS=1";
}

TEST(ConfDocs, TheExampleIsRead) {
  const auto parsed = parse(file_text("etc/slurm.conf.example"));
  ASSERT_TRUE(parsed) << parsed.error().text;
  EXPECT_TRUE(parsed->warnings.empty());
  EXPECT_TRUE(parsed->config.without_effect.empty()) << join(parsed->config.without_effect, ", ");
  EXPECT_FALSE(parsed->config.nodes.empty());
}

}  // namespace
}  // namespace sluice::tables
