// Bytes between the programs: messages, frames, PMI, X11, blocks of files.
#include "common/base/check.hpp"
#include "common/step/frame.hpp"
#include "common/step/x11_setup.hpp"
#include "common/wire/codec.hpp"
#include "ctld/tools/schema_files.hpp"
#include "fuzz/targets.hpp"
#include "stepd/io/lz4_block.hpp"
#include "stepd/mpi/pmi_wire.hpp"

namespace sluice::fuzz {
namespace {

// The first two bytes say which message.
void message(std::string_view input) {
  static const auto decoders = [] {
    std::vector<MessageDecoder> list;
    for (const auto& [name, decoder] : message_decoders()) list.push_back(decoder);
    return list;
  }();
  if (input.size() < 2) return;
  const size_t which =
      static_cast<unsigned char>(input[0]) * 256U + static_cast<unsigned char>(input[1]);
  const MessageDecoder decode = decoders[which % decoders.size()];
  const auto once = decode(input.substr(2));
  if (!once) return;
  const auto again = decode(*once);
  SLUICE_CHECK(again && *again == *once);
}

// The same bytes in pieces give the same frames.
void frames(std::string_view input) {
  constexpr uint32_t kMost = 1U << 16;
  FrameReader whole(kMost), pieces(kMost);
  whole.feed(input);
  size_t count = 0, in_pieces = 0;
  for (auto frame = whole.next(); frame && *frame; frame = whole.next()) ++count;
  bool good = true;
  for (size_t at = 0; at < input.size() && good; at += 3) {
    pieces.feed(input.substr(at, 3));
    auto frame = pieces.next();
    for (; frame && *frame; frame = pieces.next()) ++in_pieces;
    good = frame.has_value();
  }
  SLUICE_CHECK(count == in_pieces);
}

void pmi(std::string_view input) {
  for (const auto version : {stepd::PmiVersion::kOne, stepd::PmiVersion::kTwo}) {
    stepd::PmiReader reader;
    reader.feed(input);
    for (auto request = reader.next(version); request && *request; request = reader.next(version)) {
      (void)stepd::encode_pmi(**request, version);
    }
  }
}

void x11(std::string_view input) {
  X11Setup setup;
  for (size_t at = 0; at < input.size(); at += 5) {
    if (!setup.feed(input.substr(at, 5))) return;
    if (!setup.complete()) continue;
    (void)setup.cookie();
    (void)setup.with_cookie("0123456789abcdef");
    return;
  }
}

void xauthority(std::string_view input) {
  const std::string with = with_xauthority(input, "host", 10, "0123456789abcdef");
  (void)without_xauthority(with, "host", 10);
  (void)parse_display(input);
}

void block(std::string_view input) {
  const auto given = wire::decode<protocol::BroadcastBlock>(input);
  if (given) (void)stepd::unpack_block(*given);
}

}  // namespace

std::vector<Target> wire_targets() {
  return {{"message", message}, {"frames", frames},         {"pmi", pmi},
          {"x11", x11},         {"xauthority", xauthority}, {"block", block}};
}

}  // namespace sluice::fuzz
