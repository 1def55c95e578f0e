// The files of proto/: what travels between the programs and what the journal holds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// File name to content.
[[nodiscard]] std::map<std::string, std::string> schema_files();

// Reads bytes as a message and writes it again; nothing when they are none.
using MessageDecoder = std::optional<std::string> (*)(std::string_view bytes);
// Of each message by its name.
[[nodiscard]] std::map<std::string, MessageDecoder> message_decoders();

}  // namespace sluice
