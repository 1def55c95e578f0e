#include "common/syntax/cpu_frequency.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr uint32_t kFirstWord = 0x80000000;  // numbers of kHz are below

struct Word {
  std::string_view name;
  uint32_t number;
  uint32_t rank = 0;  // of frequencies, from low to high
};
constexpr Word kFrequencies[] = {{"Low", kLowFrequency, 0},
                                 {"Medium", kMediumFrequency, 1},
                                 {"High", kHighFrequency, 3},
                                 {"Highm1", kNextToHighFrequency, 2}};
constexpr Word kGovernors[] = {{"Conservative", 0x88000000},      {"OnDemand", 0x84000000},
                               {"Performance", 0x82000000},       {"PowerSave", 0x81000000},
                               {"UserSpace", kUserSpaceGovernor}, {"SchedUtil", 0x80400000}};
constexpr size_t kShortest = 2;  // letters of a word that was cut short

const Word* find_word(std::span<const Word> words, std::string_view text) {
  if (text.size() < kShortest) return nullptr;
  const auto found =
      std::ranges::find_if(words, [&](const Word& word) { return starts_with_i(word.name, text); });
  return found == words.end() ? nullptr : &*found;
}

const Word* word_of(uint32_t number) {
  for (const std::span<const Word> words :
       {std::span<const Word>(kFrequencies), std::span<const Word>(kGovernors)}) {
    for (const Word& word : words) {
      if (word.number == number) return &word;
    }
  }
  return nullptr;
}

std::optional<uint32_t> frequency_of(std::string_view text) {
  if (const Word* word = find_word(kFrequencies, text)) return word->number;
  const auto number = to_number<uint32_t>(text);
  if (!number || *number == 0 || *number >= kFirstWord) return std::nullopt;
  return number;
}

std::optional<uint32_t> governor_of(std::string_view text) {
  const Word* word = find_word(kGovernors, text);
  return word == nullptr ? std::nullopt : std::optional(word->number);
}

// Which of a number and a word is the higher one only a node can say: for all but the lowest, the
// word counts as higher.
bool is_above(uint32_t min, uint32_t max) {
  if (min == kLowFrequency) return false;
  const bool words = min >= kFirstWord && max >= kFirstWord;
  return words ? word_of(min)->rank > word_of(max)->rank : min > max;
}

tl::unexpected<Error> unrecognized(std::string_view text) {
  return failure(fmt::format("unrecognized --cpu-freq argument \"{}\"", text));
}

}  // namespace

Result<CpuFrequency> parse_cpu_frequency(std::string_view text) {
  CpuFrequency wanted;
  const size_t colon = text.find(':');
  const std::string_view range = text.substr(0, colon);
  const std::string_view third = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const auto one = frequency_of(first);
  const auto alone = one ? std::nullopt : governor_of(first);
  if (!one && !alone) return unrecognized(first);
  if (dash != std::string_view::npos) {
    const std::string_view second = range.substr(dash + 1);
    const auto other = frequency_of(second);
    if (!other) return unrecognized(second);
    if (alone || is_above(*one, *other)) {
      return failure(fmt::format("min cpu-frec ({}) must be < max cpu-freq ({})", first, second));
    }
    wanted.min = *one;
    wanted.max = *other;
  } else if (alone) {
    wanted.governor = *alone;
  } else {
    wanted.max = *one;
  }
  if (colon == std::string_view::npos) return wanted;
  if (alone)
    return failure(
        fmt::format("governor cannot be specified twice {}{{-}}:{} in --cpu-freq", first, third));
  if (wanted.min == kNoFrequency)
    return failure(fmt::format("gov on cpu-frec ({}) illegal without max", third));
  const auto governor = governor_of(third);
  if (!governor) return failure(fmt::format("illegal governor: {} on --cpu-freq", third));
  wanted.governor = *governor;
  return wanted;
}

bool is_default_frequency(std::string_view text) {
  const auto wanted = parse_cpu_frequency(text);
  return wanted && wanted->min == kNoFrequency &&
         (wanted->max == kNoFrequency || wanted->max < kFirstWord);
}

std::string cpu_frequency_text(const CpuFrequency& frequency) {
  if (frequency.max == kNoFrequency) return frequency_name(frequency.governor);
  std::string text = frequency.min == kNoFrequency ? "" : frequency_name(frequency.min) + "-";
  text += frequency_name(frequency.max);
  if (frequency.governor != kNoFrequency) text += ":" + frequency_name(frequency.governor);
  return text;
}

std::string frequency_name(uint32_t number) {
  if (number < kFirstWord) return std::to_string(number);
  const Word* word = word_of(number);
  return word == nullptr ? "Unknown" : std::string(word->name);
}

std::string short_frequency_name(uint32_t number) {
  if (number >= kFirstWord) return frequency_name(number);
  uint32_t of_unit = 1;  // kHz
  const char* unit = "K";
  for (const char* larger : {"M", "G"}) {
    if (number / of_unit < 1000) break;
    of_unit *= 1000;
    unit = larger;
  }
  if (number % of_unit == 0) return std::to_string(number / of_unit) + unit;
  return fmt::format("{:.2f}{}", static_cast<double>(number) / of_unit, unit);
}

uint32_t choose_frequency(const std::vector<uint32_t>& all, uint32_t wanted) {
  switch (wanted) {
    case kLowFrequency: return all.front();
    case kMediumFrequency: return all[(all.size() - 1) / 2];
    case kHighFrequency: return all.back();
    case kNextToHighFrequency: return all[all.size() - std::min<size_t>(all.size(), 2)];
    default: break;
  }
  const auto next = std::ranges::lower_bound(all, wanted);
  return next == all.end() ? all.back() : *next;
}

bool allows_governor(const std::vector<std::string>& governors, uint32_t governor) {
  return std::ranges::any_of(
      governors, [&](const std::string& name) { return iequals(name, frequency_name(governor)); });
}

}  // namespace sluice
