#include "common/step/mpi_parts.hpp"

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"

namespace sluice {
namespace {

TEST(MpiParts, LongDataGoesInFramesAndComesBackWhole) {
  protocol::MpiMessage message;
  message.kind = protocol::MpiMessageKind::kFence;
  message.name = "all";
  for (const size_t size :
       {size_t{0}, size_t{5}, kMpiPartBytes, kMpiPartBytes + 1, 3 * kMpiPartBytes}) {
    message.data.assign(size, 'x');
    message.data += "end";
    MpiAssembler assembler;
    std::vector<protocol::MpiMessage> got;
    send_mpi_parts(message, [&](std::string_view body) {
      EXPECT_LT(body.size(), protocol::kMaxFrameBytes);
      auto whole = assembler.take(body);
      ASSERT_TRUE(whole);
      if (whole->has_value()) got.push_back(**whole);
    });
    ASSERT_EQ(got.size(), 1U) << size;
    EXPECT_EQ(got[0].data, message.data);
    EXPECT_EQ(got[0].name, "all");
    EXPECT_FALSE(got[0].more);
  }
}

TEST(MpiParts, RefusesGarbageAndEndlessMessages) {
  MpiAssembler assembler;
  EXPECT_FALSE(assembler.take("\xff\xff"));
  protocol::MpiMessage part;
  part.data.assign(kMpiPartBytes, 'x');
  part.more = true;
  const std::string body = wire::encode(part);
  bool refused = false;
  for (size_t i = 0; i < kMaxMpiBytes / kMpiPartBytes + 1 && !refused; ++i)
    refused = !assembler.take(body);
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace sluice
