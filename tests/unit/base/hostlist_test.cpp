// Host lists; the expected texts were printed by Slurm's `scontrol show
// hostnames|hostlist[sorted]`.
#include "common/base/hostlist.hpp"

#include <gtest/gtest.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

TEST(Hostlist, Expands) {
  const std::pair<const char*, const char*> cases[] = {
      {"n[1-3,07],rack[0-1]n[01-02],login",
       "n1 n2 n3 n07 rack0n01 rack0n02 rack1n01 rack1n02 login"},
      {"n[01-3]", "n01 n02 n03"},
      {"n[8-10]", "n8 n9 n10"},
      {"n[008-10]", "n008 n009 n010"},
      {"[1-3]", "1 2 3"},
      {"n[1-2],,m,", "n1 n2 m"},
      {"n1 n2", "n1 n2"},
      {"tux[1-2][1-2]", "tux11 tux12 tux21 tux22"},
      {"", ""}};
  for (const auto& [text, expected] : cases) {
    const auto names = expand_hosts(text);
    ASSERT_TRUE(names) << text;
    EXPECT_EQ(join(*names, " "), expected);
    EXPECT_EQ(count_hosts(text).value_or(99), names->size()) << text;
  }
}

TEST(Hostlist, RefusesWhatSlurmRefuses) {
  for (const char* text : {"n[3-1]", "n[1-", "n[]", "n[a]", "n[1]x", "n[1-2]x[3-4]y", "n[1-70000]",
                           "n[1-2-3]", "n[-2]", "n[1,,2]", "n[1-3:2]", "n[[1-2]]", "n[1-2]{3}",
                           "n[1-60000][1-60000]", "n[99999999999999999999]"}) {
    EXPECT_FALSE(expand_hosts(text)) << text;
    EXPECT_FALSE(count_hosts(text)) << text;
  }
  std::string deep;
  for (int i = 0; i < 40000; ++i) deep += "n[1]";  // as many calls within each other made its names
  EXPECT_FALSE(expand_hosts(deep));
  EXPECT_FALSE(count_hosts(deep));
  EXPECT_EQ(expand_hosts("n[a]").error().text, "Invalid hostlist: n[a]");
}

TEST(Hostlist, FoldsInOrderAndSorted) {
  struct Case {
    const char* names;
    const char* folded;
    const char* sorted;
  };
  const Case cases[] = {{"a1,a2,b1", "a[1-2],b1", "a[1-2],b1"},
                        {"n03,n1,n2,n02,n1", "n[03,1-2,02,1]", "n[1,1-2,02-03]"},
                        {"n1,n2,n3,n1,n2", "n[1-3,1-2]", "n[1,1-2,2-3]"},
                        {"n3,n2,n1", "n[3,2,1]", "n[1-3]"},
                        {"n1,n01,n001", "n[1,01,001]", "n[1,01,001]"},
                        {"n9,n10,n11", "n[9-11]", "n[9-11]"},
                        {"n099,n100", "n[099-100]", "n[099-100]"},
                        {"r1n1,r1n2,r2n3", "r1n[1-2],r2n3", "r1n[1-2],r2n3"},
                        {"login,a", "login,a", "a,login"},
                        {"a,a", "a,a", "a,a"},
                        {"a1-ib,a2-ib", "a1-ib,a2-ib", "a1-ib,a2-ib"},
                        {"1,2,3", "[1-3]", "[1-3]"},
                        {"n1,n2,m,n3,n4", "n[1-2],m,n[3-4]", "m,n[1-4]"},
                        {"n10,n01,n2,n100,n0100,n11,n010", "n[10,01,2,100,0100,11,010]",
                         "n[2,01,10-11,010,100,0100]"},
                        {"n9,n09,n10", "n[9,09-10]", "n[9,09-10]"},
                        {"n010,n9,n11", "n[010,9,11]", "n[9,11,010]"},
                        {"b1,a2,a,a01,a1,a10", "b1,a2,a,a[01,1,10]", "a,a[1-2,01,10],b1"},
                        {"a1b2,a1b1,a1b", "a1b[2,1],a1b", "a1b,a1b[1-2]"},
                        {"n7,n08,n9,n10,n010", "n[7,08,9-10,010]", "n[7,9-10,08,010]"},
                        {"A1,a1,B1", "A1,a1,B1", "A1,B1,a1"},
                        {"n5", "n5", "n5"},
                        {"", "", ""}};
  for (const Case& one : cases) {
    const std::vector<std::string> names = split(one.names, ',');
    EXPECT_EQ(fold_hosts(names), one.folded) << one.names;
    EXPECT_EQ(fold_hosts_sorted(names), one.sorted) << one.names;
  }
}

TEST(Hostlist, SortsByNumber) {
  std::vector<std::string> names = {"n10", "n9", "login", "n1", "m2"};
  sort_hosts(names);
  EXPECT_EQ(join(names, " "), "login m2 n1 n9 n10");
}

}  // namespace
}  // namespace sluice
