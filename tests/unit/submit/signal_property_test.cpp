// --signal at random: what is written is read back, nonsense is refused or within bounds.
#include <random>

#include <gtest/gtest.h>

#include "common/syntax/submit_values.hpp"

namespace sluice {
namespace {

TEST(SignalProperty, IsReadBack) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): repeats
  for (int round = 0; round < 3000; ++round) {
    const auto number = static_cast<uint32_t>(1 + random() % 31);
    const auto seconds = static_cast<uint32_t>(random() % 65'536);
    const bool batch = random() % 3 == 0, reservation = !batch && random() % 3 == 0;
    std::string text = batch ? "B:" : reservation ? "R:" : "";
    const std::string name(signal_name(number));
    text += name.empty() || random() % 2 == 0 ? std::to_string(number)
                                              : (random() % 2 == 0 ? "SIG" : "") + name;
    const bool with_time = random() % 2 == 0;
    if (with_time) text += '@' + std::to_string(seconds);
    const auto option = parse_signal_option(text);
    ASSERT_TRUE(option) << text;
    EXPECT_EQ(option->signal, number) << text;
    EXPECT_EQ(option->seconds, with_time ? seconds : 60) << text;
    EXPECT_EQ(option->batch, batch) << text;
    EXPECT_EQ(option->reservation, reservation) << text;
  }
}

TEST(SignalProperty, NonsenseIsRefused) {
  std::mt19937 random(8);  // NOLINT(cert-msc51-cpp): repeats
  constexpr std::string_view kAlphabet = "0123BR:@USIGx ";
  for (int round = 0; round < 30'000; ++round) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left)
      text += kAlphabet[random() % kAlphabet.size()];
    const auto option = parse_signal_option(text);
    if (!option) continue;
    ASSERT_LE(option->seconds, 65'535U) << text;
  }
  for (const char* text :
       {"", "@60", "B:", "B:R:USR1@60", "FOO@1", "USR1@70000", "X:1@2", "0", "B:0@5"}) {
    EXPECT_FALSE(parse_signal_option(text)) << text;
  }
  for (const char* text : {"USR1@", "BR:USR1@60", "usr1@5"})
    EXPECT_TRUE(parse_signal_option(text)) << text;
}

// As the C library describes them, real-time signals too (their numbers are what is left of those
// of the library).
TEST(SignalDescription, NamesWhatEndedAProcess) {
  EXPECT_EQ(signal_description(3), "Quit");
  EXPECT_EQ(signal_description(15), "Terminated");
  EXPECT_EQ(signal_description(16), "Stack fault");
  EXPECT_EQ(signal_description(34), "Real-time signal 0");
  EXPECT_EQ(signal_description(64), "Real-time signal 30");
  EXPECT_EQ(signal_description(65), "Unknown signal 65");
  EXPECT_EQ(signal_description(0), "Unknown signal 0");
}

}  // namespace
}  // namespace sluice
