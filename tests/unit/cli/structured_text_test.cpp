// The texts of --json and --yaml, letter for letter.
#include <gtest/gtest.h>

#include "cli/format/structured_output.hpp"
#include "cli/format/structured_text.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

TEST(StructuredText, TextsAsSlurmWritesThem) {
  const Json value = {{"list", Json::array()},
                      {"map", Json::object()},
                      {"path", "/a \"b\""},
                      {"number", 8.0},
                      {"words", {"A", "B"}}};
  EXPECT_EQ(
      to_json_text(value),
      "{\n  \"list\": [\n  ],\n  \"map\": {\n  },\n  \"path\": \"\\/a \\\"b\\\"\",\n  \"number\": 8.0,\n"
      "  \"words\": [\n    \"A\",\n    \"B\"\n  ]\n}\n");
  EXPECT_EQ(
      to_yaml_text(value),
      "%YAML 1.1\n--- !!map\n!!str list: !!seq []\n!!str map: !!map {}\n!!str path: !!str /a \"b\"\n"
      "!!str number: !!float 8.000000\n!!str words: !!seq\n- !!str A\n- !!str B\n...\n");
}

// squeue writes its records as they come: nobody sees it in what is written.
TEST(StructuredText, ADocumentInPiecesIsTheWhole) {
  const Json records[] = {{{"id", 1}, {"words", {"A", "B"}}, {"none", Json::array()}},
                          {{"id", -2}, {"map", {{"a/b", 2.5}}}},
                          "text",
                          7U};
  for (const bool yaml : {false, true}) {
    for (size_t count = 0; count <= std::size(records); ++count) {
      Json whole = {{"jobs", Json::array()}, {"last", {{"set", true}}}, {"errors", Json::array()}};
      DocumentText pieces(yaml, "jobs");
      std::string text;
      pieces.begin(text);
      for (size_t at = 0; at < count; ++at) {
        pieces.add(records[at], text);
        whole["jobs"].push_back(records[at]);
      }
      Json rest = whole;
      rest.erase("jobs");
      pieces.end(rest, text);
      EXPECT_EQ(text, yaml ? to_yaml_text(whole) : to_json_text(whole));
    }
  }
}

TEST(StructuredText, JsonQuotesKeysAndWhatIsNoUtf8) {
  const Json value = {{"a\"b\n", "caf\xe9"}};
  const std::string text = to_json_text(value);
  EXPECT_EQ(text, "{\n  \"a\\\"b\\n\": \"caf\xef\xbf\xbd\"\n}\n");
  EXPECT_TRUE(Json::accept(text));
}

TEST(StructuredText, YamlQuotesWhatIsNoPlainText) {
  const auto text = [](const char* value) {
    const std::string line = split(to_yaml_text(Json{{"k", value}}), '\n')[2];
    return line.substr(std::string("!!str k: ").size());
  };
  EXPECT_EQ(text(""), "!!str");
  EXPECT_EQ(text("sbatch -N2 --wrap true"), "!!str sbatch -N2 --wrap true");
  EXPECT_EQ(text("2_[13-20%4]"), "!!str 2_[13-20%4]");
  EXPECT_EQ(text("*:*"), "!!str '*:*'");
  EXPECT_EQ(text("it's: so"), "!!str 'it''s: so'");
  EXPECT_EQ(text("- a"), "!!str '- a'");
  EXPECT_EQ(text("a #b"), "!!str 'a #b'");
  EXPECT_EQ(text("a\nb"), "!!str \"a\\nb\"");
  EXPECT_EQ(text("caf\xc3\xa9"), "!!str \"caf\xc3\xa9\"");
  EXPECT_EQ(text("a\x7f"
                 "b\xc2\x85"),
            "!!str \"a\\u007fb\\u0085\"");
}

TEST(StructuredText, ADocumentHasItsFrame) {
  StructuredDocument made;
  made.key = "nodes";
  made.records = Json::array();
  made.command_line = {"scontrol"};
  made.warnings = {"a word"};
  const Json document = make_document({StructuredForm::kJson, 43}, std::move(made));
  EXPECT_EQ(document["meta"]["plugin"]["data_parser"], "data_parser/v0.0.43");
  EXPECT_EQ(document["warnings"].dump(), R"([{"description":"a word","source":""}])");
  EXPECT_TRUE(document["errors"].empty());
}

}  // namespace
}  // namespace sluice::cli
