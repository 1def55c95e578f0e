#include "cli/format/shown_text.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

TEST(ShownText, LosesAllControlsButThoseThatAreKept) {
  EXPECT_EQ(mask_controls_but("a\x1b[2J\tb\nc\r\n", "\n"), "a?[2J?b\nc?\n");
  EXPECT_EQ(mask_controls_but("\tb\x7f\n\nc", "\n\t"), "\tb?\n\nc");
  EXPECT_EQ(mask_controls_but("a\nb", {}), "a?b");
  EXPECT_EQ(mask_controls_but("j\xc3\xb6"
                              "b",
                              "\n"),
            "j\xc3\xb6"
            "b");
  EXPECT_EQ(mask_controls_but({}, "\n"), "");
}

TEST(ShownCell, IsOneLine) {
  EXPECT_EQ(shown_cell("ev\x1b[31mil\nX|Y\r", true), "ev?[31mil?X|Y?");
  EXPECT_EQ(shown_cell("ev\x1b[31mil\nX|Y\r", false), "ev\x1b[31mil\\nX|Y\\r");
  EXPECT_EQ(shown_cell("j\xc3\xb6 b", false), "j\xc3\xb6 b");
}

}  // namespace
}  // namespace sluice::cli
