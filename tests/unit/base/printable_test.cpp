// What a terminal or a log is shown of a text that a user made.
#include "common/base/printable.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Printable, TextsOfAnyLanguageStayAsTheyAre) {
  for (const char* text :
       {"", "job 7", "größer", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x9a\x80", "back\\slash"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(escape_controls(text), text);
    EXPECT_EQ(mask_controls(text), text);
  }
}

TEST(Printable, ControlCharactersBecomeVisible) {
  EXPECT_EQ(escape_controls("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(escape_controls("\x1b[2Jx\x7f"), "\\x1b[2Jx\\x7f");
  EXPECT_EQ(escape_controls(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape_controls("\xc2\x9b"
                            "31m"),
            "\\xc2\\x9b31m")
      << "CSI in one character";
  EXPECT_EQ(mask_controls("a\x1b[1m\nb"), "a?[1m?b");
  EXPECT_FALSE(is_printable("a\nb"));
}

// A name with one of these looks like another one.
TEST(Printable, WhatTurnsTheOrderOfTextBecomesVisible) {
  for (const std::string turn : {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
                                 "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_FALSE(is_printable("a" + turn + "b"));
    EXPECT_EQ(mask_controls("a" + turn + "b"), "a" + std::string(turn.size(), '?') + "b");
  }
  EXPECT_EQ(escape_controls("a\xe2\x80\xaetxt.exe"), "a\\xe2\\x80\\xaetxt.exe");
  // the characters before and behind them: dashes, spaces, letters
  for (const char* text : {"\xd8\x9b", "\xe2\x80\x93", "\xe2\x80\xaf", "\xe2\x81\xaa",
                           "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "\xe2\x82\xac"})
    EXPECT_TRUE(is_printable(text)) << text;
}

TEST(Printable, WhatIsNoUtf8IsShownByteByByte) {
  EXPECT_EQ(escape_controls("\x9b"
                            "31m"),
            "\\x9b31m");                                          // CSI in Latin-1
  EXPECT_EQ(escape_controls("a\xc3"), "a\\xc3");                  // cut short
  EXPECT_EQ(escape_controls("\xc0\x8a"), "\\xc0\\x8a");           // a newline in two bytes
  EXPECT_EQ(escape_controls("\xe0\x80\x8a"), "\\xe0\\x80\\x8a");  // in three
  EXPECT_EQ(escape_controls("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(escape_controls("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace sluice
