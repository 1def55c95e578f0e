// The codec of described structs: everything comes back, and bad bytes are refused.
#include "common/wire/codec.hpp"

#include <random>

#include <gtest/gtest.h>

#include "common/model/job.hpp"
#include "unit/wire/fill.hpp"

namespace sluice {
namespace {

struct Small {
  int32_t number = 7;
  std::string text;
  std::vector<uint64_t> list;
  std::map<std::string, std::string> map;
  template <class V>
  static void describe(V&& field) {
    field(1, "number", &Small::number);
    field(2, "text", &Small::text);
    field(3, "list", &Small::list);
    field(4, "map", &Small::map);
  }
};
struct Larger {  // a later version of Small
  int32_t number = 7;
  std::string text;
  std::vector<uint64_t> list;
  std::map<std::string, std::string> map;
  std::string news = "none";
  double ratio = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "number", &Larger::number);
    field(2, "text", &Larger::text);
    field(3, "list", &Larger::list);
    field(4, "map", &Larger::map);
    field(5, "news", &Larger::news);
    field(6, "ratio", &Larger::ratio);
  }
};
struct Left {
  static constexpr uint32_t kTag = 1;
  static constexpr const char* kName = "Left";
  uint32_t x = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "x", &Left::x);
  }
};
struct Right {
  static constexpr uint32_t kTag = 5;
  static constexpr const char* kName = "Right";
  template <class V>
  static void describe(V&&) {}
};

TEST(Codec, EveryFieldOfAJobComesBack) {
  const Job job = test::filled<Job>();
  const std::string bytes = wire::encode(job);
  const Result<Job> back = wire::decode<Job>(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(wire::encode(*back), bytes);
  EXPECT_EQ(back->spec->name, job.spec->name);
  EXPECT_EQ(back->exit_status, job.exit_status);
}

TEST(Codec, DefaultsTakeNoRoomAndZeroIsNotTheDefault) {
  EXPECT_EQ(wire::encode(Small{}), "");
  Small small;
  small.number = 0;
  EXPECT_EQ(wire::decode<Small>(wire::encode(small))->number, 0);
  EXPECT_EQ(wire::decode<Small>("")->number, 7);
}

TEST(Codec, VersionsReadEachOther) {
  const auto larger = test::filled<Larger>();
  const Result<Small> small = wire::decode<Small>(wire::encode(larger));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->list, larger.list);
  const Result<Larger> back = wire::decode<Larger>(wire::encode(*small));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->news, "none");
  EXPECT_EQ(back->map, larger.map);
}

TEST(Codec, UnknownAlternativeIsRefused) {
  using Both = std::variant<Left, Right>;
  const std::string right = wire::encode(Both(Right{}));
  EXPECT_TRUE(std::holds_alternative<Right>(*wire::decode<Both>(right)));
  EXPECT_FALSE(wire::decode<std::variant<Left>>(right));
}

struct Many {
  std::vector<Job> jobs;
  std::vector<std::string> texts;
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &Many::jobs);
    field(2, "texts", &Many::texts);
  }
};

// Two bytes each became a whole record: 64 MB of them were more than any machine has.
TEST(Codec, EmptyElementsAreBoundedByTheMessage) {
  const auto empty = [](size_t count, const char* key) {
    std::string bytes;
    for (size_t i = 0; i < count; ++i) bytes.append(key, 1).push_back('\0');
    return bytes;
  };
  const std::string hostile = empty(size_t{1} << 20, "\x0a");
  EXPECT_FALSE(wire::decode<Many>(hostile));
  EXPECT_TRUE(wire::decode<Many>(empty(100, "\x0a"))) << "a few are plausible";
  EXPECT_EQ(wire::decode<Many>(empty(size_t{1} << 20, "\x12"))->texts.size(), size_t{1} << 20)
      << "a text is not large";
  EXPECT_EQ(wire::decode<Many>(empty(10'000, "\x0a"), wire::kAnyRoom)->jobs.size(), 10'000U);
  size_t room = wire::decode_room(hostile.size());
  const size_t before = room;
  EXPECT_FALSE(wire::decode_within<Many>(hostile, room));
  EXPECT_LT(room, before);
}

struct Numbers {
  std::vector<uint64_t> list;
  std::vector<double> halves;
  template <class V>
  static void describe(V&& field) {
    field(1, "list", &Numbers::list);
    field(2, "halves", &Numbers::halves);
  }
};

// A byte each became eight, which nobody counted, and twice that while the list grew.
TEST(Codec, NumbersAreCounted) {
  Numbers numbers{std::vector<uint64_t>(1000, 1), std::vector<double>(1000, 0.5)};
  const std::string bytes = wire::encode(numbers);
  size_t room = wire::decode_room(bytes.size());
  const size_t before = room;
  const Result<Numbers> back = wire::decode_within<Numbers>(bytes, room);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->list, numbers.list);
  EXPECT_EQ(back->halves, numbers.halves);
  EXPECT_EQ(before - room, 2 * 1000 * 8U);
  EXPECT_LE(back->list.capacity(), 1000U);
  room = 8 * 2000 - 1;
  EXPECT_FALSE(wire::decode_within<Numbers>(bytes, room));
  std::string one_by_one;
  for (int i = 0; i < 1000; ++i) one_by_one += "\x08\x01";
  room = 8 * 1000 - 1;
  EXPECT_FALSE(wire::decode_within<Numbers>(one_by_one, room));
}

// Each key that came too late, or was unknown, cost a pass over all fields: 20 MB of them were
// seconds.
TEST(Codec, PassesOverTheFieldsAreBounded) {
  const auto keys = [](size_t count, std::string_view round) {
    std::string bytes;
    for (size_t i = 0; i < count; ++i) bytes += round;
    return bytes;
  };
  using namespace std::string_view_literals;
  constexpr std::string_view kBackwards = "\x1a\x00\x12\x00\x0a\x00"sv;  // fields 3, 2, 1
  constexpr std::string_view kUnknown = "\x72\x00\x7a\x00"sv;            // 14, 15
  EXPECT_TRUE(wire::decode<Many>(keys(10, kBackwards)));
  EXPECT_FALSE(wire::decode<Many>(keys(1 << 20, kBackwards)));
  EXPECT_TRUE(wire::decode<Numbers>(keys(100, kUnknown)));
  EXPECT_FALSE(wire::decode<Numbers>(keys(1 << 20, kUnknown)));
  EXPECT_TRUE(wire::decode<Numbers>(keys(1 << 20, "\x72\x00"sv)))
      << "many of one unknown field are passed over at once";
}

// A set of millions of tasks is fourteen bytes with a step, and never written so.
TEST(Codec, SetsHaveNoSteps) {
  IndexSet set;
  EXPECT_FALSE(TextTraits<IndexSet>::from_text("0-8388608:2", set));
  EXPECT_TRUE(TextTraits<IndexSet>::from_text("0-8388608,9000000", set));
}

TEST(Codec, CutAndRandomBytesAreRefusedOrReadWithoutHarm) {
  const std::string bytes = wire::encode(test::filled<Job>());
  for (size_t length = 0; length < bytes.size(); ++length) {
    static_cast<void>(wire::decode<Job>(std::string_view(bytes).substr(0, length)));
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string broken = bytes;
    for (int i = 0; i < 3; ++i) broken[random() % broken.size()] = static_cast<char>(random());
    static_cast<void>(wire::decode<Job>(broken));
  }
  EXPECT_FALSE(
      wire::decode<Small>("\x12\xff\xff\xff\xff\x0f"));  // a text of 4 GB that is not there
  EXPECT_FALSE(wire::decode<Small>("\x12"));
}

}  // namespace
}  // namespace sluice
