// docs/compatibility.md is what the tables say, and "supported" always names a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/compatibility.hpp"
#include "common/submit/submit_options.hpp"
#include "common/names/trigger_names.hpp"
#include "common/submit/update_keys.hpp"

namespace sluice::cli {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A row of the page: the command its section is about, and the test it names.
struct NamedTest {
  std::string command;
  std::string other_name;  // "sluicenoded, which is slurmd"; else the same
  std::string folder;
  std::string name;
  std::string line;
};

std::vector<NamedTest> named_tests() {
  const std::regex names("`(\\w+):([\\w. ]+)` *\\|?\\.?$");
  std::vector<NamedTest> out;
  std::istringstream page(compatibility_text());
  std::string command, other_name;
  std::smatch found;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) {
      command = line.substr(3, line.find_first_of(" ,", 3) - 3);
      other_name = line.find(", which is ") == std::string::npos ? command
                                                                 : line.substr(line.rfind(' ') + 1);
    }
    if (std::regex_search(line, found, names))
      out.push_back({command, other_name, found[1], found[2], line});
  }
  return out;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> out;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    if (at != begin) out.emplace(text.substr(begin, at - begin));
  }
  return out;
}

// What a Python file defines: the text of each function and method, and of each constant in
// capitals.
class PythonFile {
 public:
  struct Part {
    std::string owner;  // the class; empty: the module
    std::string text;
  };

  explicit PythonFile(const std::filesystem::path& path) {
    std::istringstream file(text_of(path));
    for (std::string line; std::getline(file, line);) lines_.push_back(line);
    std::string owner;
    for (size_t at = 0; at < lines_.size(); ++at) {
      const std::string& line = lines_[at];
      const size_t indent = indent_of(line);
      const std::string_view rest = std::string_view(line).substr(indent);
      if (rest.starts_with("class ")) owner = first_word(rest.substr(6));
      if (rest.starts_with("def ")) {
        add(first_word(rest.substr(4)), indent == 0 ? "" : owner, at);
      } else if (const std::string name = first_word(rest); is_constant(name)) {
        add(name, indent == 0 ? "" : owner, at);
      }
    }
  }

  [[nodiscard]] std::string find(const std::string& name, const std::string& owner = "") const {
    std::string out;
    for (auto [at, end] = parts_.equal_range(name); at != end; ++at) {
      if (owner.empty() || at->second.owner == owner) out += at->second.text;
    }
    return out;
  }

 private:
  static size_t indent_of(const std::string& line) {
    return std::min(line.find_first_not_of(' '), line.size());
  }
  static std::string first_word(std::string_view text) {
    size_t end = 0;
    while (end < text.size() && is_word(text[end])) ++end;
    return std::string(text.substr(0, end));
  }
  static bool is_constant(const std::string& name) {
    return name.size() > 1 &&
           std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; });
  }

  // Up to the next line that is indented as little, but for closing brackets and quotes.
  void add(const std::string& name, const std::string& owner, size_t at) {
    const size_t indent = indent_of(lines_[at]);
    std::string text = lines_[at] + "\n";
    for (++at; at < lines_.size(); ++at) {
      const std::string& line = lines_[at];
      const bool closes = line.find_first_of(")]}\"") == indent;
      if (!line.empty() && indent_of(line) <= indent && !closes) break;
      text += line + "\n";
    }
    parts_.emplace(name, Part{owner, text});
  }

  std::vector<std::string> lines_;
  std::multimap<std::string, Part> parts_;
};

// A test and whatever it uses of its own file and of the harness.
std::string text_of_test(const PythonFile& file, const PythonFile& harness,
                         const std::string& name) {
  const size_t dot = name.find('.');
  const std::string method = dot == std::string::npos ? name : name.substr(dot + 1);
  std::string text = file.find(method, dot == std::string::npos ? "" : name.substr(0, dot));
  std::set<std::string> seen = {method};
  for (std::string fresh = text; !fresh.empty(); text += fresh) {
    std::string next;
    for (const std::string& word : words_of(fresh)) {
      if (!seen.insert(word).second) continue;
      const std::string own = file.find(word);
      next += own.empty() ? harness.find(word) : own;
    }
    fresh = next;
  }
  return text;
}

TEST(Compatibility, ThePageIsInStep) {
  EXPECT_EQ(text_of("docs/compatibility.md"), compatibility_text())
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
  for (const JobUpdateKey& key : job_update_keys())
    EXPECT_EQ(key.set != nullptr, key.subject.empty()) << key.name;
  for (const NodeUpdateKey& key : node_update_keys())
    EXPECT_EQ(key.set != nullptr, key.subject.empty()) << key.name;
}

// Those that the controller never brings about are said to have no effect.
TEST(Compatibility, EveryEventOfTriggersHasARow) {
  constexpr TriggerEvents kNeverFired = kTriggerPrimaryFailure | kTriggerPrimaryControl |
                                        kTriggerBackupFailure | kTriggerBackupResumed |
                                        kTriggerBackupControl | kTriggerBurstBuffer;
  for (const auto& [event, name] : kTriggerNames) {
    const std::string option = "--" + std::string(name);
    const auto row = std::ranges::find_if(compatibility_rows(), [&](const CompatibilityRow& one) {
      return one.command == "strigger" && one.what.substr(0, one.what.find(',')) == option;
    });
    ASSERT_NE(row, compatibility_rows().end()) << option;
    EXPECT_EQ(row->support, (event & kNeverFired) != 0 ? Support::kNoEffect : Support::kSupported)
        << option;
  }
}

// `system:FILE Class.test`: the method is in tests/system/test_FILE.py, and it or what it uses runs
// the command.
TEST(Compatibility, SystemTestsThatAreNamedRunTheCommand) {
  const PythonFile harness("tests/system/harness.py");
  std::map<std::string, PythonFile> files;
  size_t found = 0;
  for (const NamedTest& test : named_tests()) {
    if (test.folder != "system" && test.folder != "issues") continue;
    ++found;
    const size_t space = test.name.find(' ');
    ASSERT_NE(space, std::string::npos) << test.line;
    const std::string path = "tests/" + test.folder + "/test_" + test.name.substr(0, space) + ".py";
    const PythonFile& file = files.try_emplace(path, path).first->second;
    const std::string text = text_of_test(file, harness, test.name.substr(space + 1));
    EXPECT_FALSE(text.empty()) << test.line << ": no such test";
    if (test.command == "beside") continue;  // not a command's
    const std::set<std::string> words = words_of(text);
    EXPECT_TRUE(words.contains(test.command) || words.contains(test.other_name))
        << test.line << ": does not run " << test.command;
  }
  EXPECT_GT(found, 100U);
}

// `golden:FILE`: a command line of tests/golden/FILE.txt is one of this command.
TEST(Compatibility, GoldenFilesThatAreNamedHoldTheCommand) {
  for (const NamedTest& test : named_tests()) {
    if (test.folder != "golden") continue;
    const std::string text = text_of("tests/golden/" + test.name + ".txt");
    EXPECT_NE(("\n" + text).find("\n$ " + test.command + " "), std::string::npos) << test.line;
  }
}

// Whatever else is named, `FOLDER:Suite.Test`, is a test of tests/unit/FOLDER.
TEST(Compatibility, UnitTestsThatAreNamedAreThere) {
  size_t found = 0;
  for (const NamedTest& test : named_tests()) {
    if (test.folder == "system" || test.folder == "issues" || test.folder == "golden") continue;
    ++found;
    const size_t dot = test.name.find('.');
    ASSERT_NE(dot, std::string::npos) << test.line;
    const std::string defined =
        "(" + test.name.substr(0, dot) + ", " + test.name.substr(dot + 1) + ") {";
    const std::filesystem::path folder = "tests/unit/" + test.folder;
    ASSERT_TRUE(std::filesystem::is_directory(folder)) << test.line;
    bool there = false;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      there = there || text_of(file.path()).find(defined) != std::string::npos;
    }
    EXPECT_TRUE(there) << test.line;
  }
  EXPECT_GT(found, 0U);
}

}  // namespace
}  // namespace sluice::cli
