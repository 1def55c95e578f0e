#include "common/net/grpc_reply.hpp"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

GrpcReply fresh(size_t max_message = 100) { return {"ctl:6817", max_message}; }

TEST(GrpcReply, PutsMessagesTogetherFromAnyParts) {
  const std::string body = grpc_frame("first") + grpc_frame("") + grpc_frame("third");
  for (size_t part = 1; part <= body.size(); ++part) {
    GrpcReply reply = fresh();
    for (size_t at = 0; at < body.size(); at += part)
      reply.add_body(std::string_view(body).substr(at, part));
    reply.add_header("grpc-status", "0");
    reply.close("no error");
    std::string message;
    for (const char* expected : {"first", "", "third"}) {
      ASSERT_TRUE(reply.take(message));
      EXPECT_EQ(message, expected);
    }
    EXPECT_FALSE(reply.take(message));
    EXPECT_TRUE(reply.ended_well());
  }
}

TEST(GrpcReply, EndsForTheReasonThatComesFirst) {
  GrpcReply reply = fresh();
  reply.add_header(":status", "200");
  reply.add_header("grpc-status", "4");
  reply.add_header("grpc-message", "too%20late");
  reply.close("no error");
  EXPECT_TRUE(reply.has_ended());
  EXPECT_FALSE(reply.ended_well());
  EXPECT_EQ(reply.error().code, ErrorCode::kTimedOut);
  EXPECT_EQ(reply.error().text, "ctl:6817: too late");
  reply.fail(ErrorCode::kConnectionLost, "the connection broke");
  EXPECT_EQ(reply.error().code, ErrorCode::kTimedOut);
}

TEST(GrpcReply, WithoutAStatusIsNoReply) {
  GrpcReply reset = fresh();
  reset.close("INTERNAL_ERROR");
  EXPECT_EQ(reset.error().code, ErrorCode::kConnectionLost);
  EXPECT_EQ(reset.error().text, "ctl:6817: INTERNAL_ERROR");
  GrpcReply web = fresh();
  web.add_header(":status", "404");
  web.close("");
  EXPECT_EQ(web.error().text, "ctl:6817: HTTP status 404");
  GrpcReply odd = fresh();
  odd.add_header("grpc-status", "99999999999999999999");
  odd.close("");
  EXPECT_FALSE(odd.ended_well());
}

TEST(GrpcReply, BoundsWhatItTakes) {
  GrpcReply large = fresh(4);
  large.add_body(grpc_frame("1234") + grpc_frame("12345"));
  std::string message;
  EXPECT_TRUE(large.take(message));
  EXPECT_FALSE(large.take(message));
  EXPECT_EQ(large.error().code, ErrorCode::kBadRequest);
  GrpcReply packed = fresh();
  std::string frame = grpc_frame("x");
  frame[0] = 1;
  packed.add_body(frame);
  EXPECT_EQ(packed.error().code, ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace sluice::net
