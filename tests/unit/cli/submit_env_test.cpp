// What --export makes of the variables of who submits.
#include "cli/options/submit_env.hpp"

#include <gtest/gtest.h>

#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

std::string exported(std::string list) {
  SubmitSettings settings;
  settings.export_list = std::move(list);
  settings.export_given = true;
  Environment caller;
  caller.set("ONE", "1");
  const auto out = exported_environment(settings, caller);
  return out ? join(out->entries(), "|") : out.error().text;
}

// The bug: quotes were taken out of values.
TEST(ExportList, QuotesKeepCommasAndBelongToTheValue) {
  EXPECT_EQ(exported(R"(A="x,y",B=2)"), R"(A="x,y"|B=2)");
  EXPECT_EQ(exported("A='x,y',ONE"), "A='x,y'|ONE=1");
  EXPECT_EQ(exported(R"(A=x"y,z"w,B=1)"), R"(A=x"y,z"w|B=1)");
  EXPECT_EQ(exported(R"(A=\"x\",B=1)"), R"(A=\"x\"|B=1)");
  EXPECT_EQ(exported(R"(A=x\,y,B=2)"), R"(A=x\|B=2)");
}

TEST(ExportList, QuotesAroundAnItemGo) {
  EXPECT_EQ(exported(R"("A=1,B=2",ONE)"), "A=1,B=2|ONE=1");
  EXPECT_EQ(exported("'A=1'"), "A=1");
}

TEST(ExportList, AQuoteThatStaysOpenTakesTheRest) {
  EXPECT_EQ(exported(R"(A="x,B=2)"), R"(A="x,B=2)");
  EXPECT_EQ(exported(R"(A="x'y,z",B=2)"), R"(A="x'y,z",B=2)");
}

TEST(ExportList, EmptyItemsAndOddOnes) {
  EXPECT_EQ(exported(",A=1,"), "A=1");
  EXPECT_EQ(exported("A=b=c"), "A=b=c");
  EXPECT_EQ(exported("A= 1 ,MISSING"), "A= 1 ");
}

}  // namespace
}  // namespace sluice::cli
