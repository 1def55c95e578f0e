// The parsers of --json, and what older ones leave out.
#include <gtest/gtest.h>

#include "cli/format/json_parser.hpp"

namespace sluice {
namespace {

TEST(JsonParser, TheOldestParsersHaveTheShapeOf42) {
  Json rows = Json::array({{{"partition", {{"name", "debug"}, {"topology", ""}}}}});
  fit_json_parser("sinfo", rows, 43);
  EXPECT_TRUE(rows[0]["partition"].contains("topology"));
  fit_json_parser("sinfo", rows, 40);
  EXPECT_EQ(rows[0]["partition"].dump(), R"({"name":"debug"})");
}

TEST(JsonParser, ParsersAreFoundByName) {
  EXPECT_EQ(find_json_parser("v0.0.43"), 43U);
  EXPECT_EQ(find_json_parser("data_parser/v0.0.42"), 42U);
  for (const char* wrong :
       {"", "43", "v0.0.", "v0.0.39", "v0.0.45", "data_parser/43", "v0.0.43x"}) {
    EXPECT_FALSE(find_json_parser(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sluice
