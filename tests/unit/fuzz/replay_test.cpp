// What the fuzzer kept is read again by every build: no input of the corpus ends the process, and
// each target has some.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "fuzz/targets.hpp"

namespace sluice::fuzz {
namespace {

TEST(FuzzCorpus, IsReadWithoutHarm) {
  size_t inputs = 0;
  for (const Target& target : all_targets()) {
    const std::filesystem::path folder = std::filesystem::path("tests/corpus/fuzz") / target.name;
    ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder;
    size_t of_target = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      target.run(bytes);
      // whatever it is cut to is no worse
      for (size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 16)
        target.run(std::string_view(bytes).substr(0, length));
      ++of_target;
    }
    EXPECT_GT(of_target, 0U) << folder;
    inputs += of_target;
  }
  EXPECT_GT(inputs, all_targets().size());
}

}  // namespace
}  // namespace sluice::fuzz
