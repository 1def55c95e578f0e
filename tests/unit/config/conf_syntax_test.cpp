// Comments, continuation lines, quotes, Include: text to lines and pairs.
#include <random>

#include <gtest/gtest.h>

#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

std::string pairs_text(const std::string& text) {
  std::string out;
  const auto lines = lines_of(text);
  if (!lines) return lines.error().text;
  for (const ConfLine& line : *lines) {
    const auto pairs = conf_pairs(line);
    if (!pairs) return pairs.error().text;
    for (const ConfPair& pair : *pairs) out += pair.key + "{" + pair.value + "} ";
    out += "@" + std::to_string(line.number) + ";";
  }
  return out;
}

TEST(ConfSyntax, TakesCommentsOff) {
  EXPECT_EQ(pairs_text("# all\n  A=1 # rest\n\nB=x\\#y#z\n"), "A{1} @2;B{x#y} @4;");
}

TEST(ConfSyntax, JoinsContinuationLines) {
  EXPECT_EQ(pairs_text("A=1 \\\n  B=2 \\\nC=3\nD=4\\"), "A{1} B{2} C{3} @1;D{4} @4;");
  EXPECT_EQ(pairs_text("A=1,\\\n2,\\\n3\n"), "A{1,2,3} @1;");  // nothing comes between, as in Slurm
  EXPECT_EQ(pairs_text("A=1 \\  \nB=2\n"), "A{1} B{2} @1;");   // blanks behind the backslash
  EXPECT_EQ(pairs_text("A=1\\\\\nB=2\n"), "A{1\\\\} @1;B{2} @2;");
}

TEST(ConfSyntax, LinesCanBeWrittenDownAgain) {
  const auto lines = lines_of(
      "A=1 \\\n B=2 # c\nInclude more\nC=x\\#y\nD=4\\\\\nE=5\\ # c\nF=\"a  b\"\nG=u\\\\#v\n",
      {{"more", "H=8\n"}});
  ASSERT_TRUE(lines) << lines.error().text;
  ASSERT_EQ(lines->size(), 7U);
  const auto again = lines_of(conf_text(*lines));
  ASSERT_TRUE(again) << again.error().text;
  ASSERT_EQ(again->size(), lines->size());
  for (size_t i = 0; i < lines->size(); ++i) EXPECT_EQ((*again)[i].text, (*lines)[i].text);
  EXPECT_NE(conf_text(*lines).find("# more\nH=8\n# /etc/slurm.conf\n"), std::string::npos)
      << conf_text(*lines);
}

TEST(ConfSyntax, ReadsQuotesAndBlanksRoundTheSign) {
  EXPECT_EQ(pairs_text("A = \"x y\" B\t=z\r\n"), "A{x y} B{z} @1;");
  EXPECT_EQ(pairs_text("Opt=a=b,c=\"d e\",f"), "Opt{a=b,c=d e,f} @1;");
  EXPECT_EQ(pairs_text("A=\"\""), "A{} @1;");
}

TEST(ConfSyntax, NamesWhatIsNoPair) {
  EXPECT_EQ(pairs_text("\nA=1 word\n"), "/etc/slurm.conf:2: KEY=VALUE is wanted at \"word\"");
  EXPECT_EQ(pairs_text("=1\n"), "/etc/slurm.conf:1: KEY=VALUE is wanted at \"=1\"");
  EXPECT_EQ(pairs_text("A=\"1\n"), "/etc/slurm.conf:1: the quote after A= does not end");
}

TEST(ConfSyntax, IncludesInPlace) {
  const auto parsed = parse("ClusterName=Demo\ninclude  %c.conf\nNodeName=b\n",
                            {{"demo.conf", "SlurmctldHost=vm\n\nNodeName=a\n"}});
  ASSERT_TRUE(parsed) << parsed.error().text;
  ASSERT_EQ(parsed->config.nodes.size(), 2U);
  EXPECT_EQ(parsed->config.nodes[0].name, "a");
}

TEST(ConfSyntax, NamesThePlaceInsideAnIncludedFile) {
  EXPECT_EQ(parse("Include a.conf\n", {{"a.conf", "\nKillwait=x\n"}}).error().text,
            "a.conf:2: Killwait=\"x\" is not valid; allowed: a number of seconds from 0 to 65533");
  EXPECT_EQ(parse("Include b.conf\n").error().text, "/etc/slurm.conf:1: b.conf: No such file");
  EXPECT_EQ(parse("Include a\n", {{"a", "Include a\n"}}).error().text,
            "a:1: too many files include each other");
}

// Any bytes give a configuration or an error that names a place, never a crash.
TEST(ConfSyntax, AnyBytesAreReadOrRefused) {
  std::mt19937 random(7);
  const std::vector<std::string> words = {"NodeName",
                                          "PartitionName",
                                          "DEFAULT",
                                          "=",
                                          "n[1-4,9]",
                                          "[",
                                          "]",
                                          ",",
                                          "-",
                                          "Nodes",
                                          "ALL",
                                          "CPUs",
                                          "Port",
                                          "\\\n",
                                          "#",
                                          "\"",
                                          " ",
                                          "\n",
                                          "NodeSet",
                                          "Feature",
                                          "State",
                                          "SlurmctldHost",
                                          "(",
                                          ")",
                                          "\xff",
                                          "99999999999",
                                          "KillWait",
                                          "UNLIMITED",
                                          "%c",
                                          "DownNodes",
                                          "PreemptMode",
                                          "GANG",
                                          "OverSubscribe",
                                          "FORCE:",
                                          "Include x",
                                          "TRESBillingWeights",
                                          "4K",
                                          std::string(1, '\0')};
  for (int round = 0; round < 1500; ++round) {
    std::string text = round % 2 ? kSmallest : "";
    const size_t length = random() % 40;
    for (size_t i = 0; i < length; ++i) {
      text += random() % 8 ? words[random() % words.size()]
                           : std::string(1, static_cast<char>(random() % 256));
    }
    const auto lines = lines_of(text, {{"x", "KillWait=3"}});
    if (!lines) continue;
    auto parsed = parse_slurm_conf(*lines);
    const std::string message = parsed ? "slurm.conf:" : parsed.error().text;
    EXPECT_NE(message.find(':'), std::string::npos) << text;
    ParsedConfig other;
    (void)parse_gres_conf(*lines, other);
    (void)parse_cgroup_conf(*lines, other);
  }
}

}  // namespace
}  // namespace sluice::tables
