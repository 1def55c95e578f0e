#include "cli/step/broadcast.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <lz4.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/step/allocation.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/step/shared_objects.hpp"
#include "cli/options/submit_env.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/names/broadcast_names.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {

using protocol::BlockAction;
using protocol::BroadcastBlock;
using protocol::Compression;

namespace {

constexpr int kFailed = 255;

int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

std::string date_text(time_t time) {
  char text[32];
  std::string out = ctime_r(&time, text) != nullptr ? text : "";
  return std::string(trim(out));
}

}  // namespace

Compression compression_of(std::string_view command, std::string_view name) {
  if (name.empty() || iequals(name, "lz4")) return Compression::kLz4;
  if (!iequals(name, "none")) {
    print_error(command,
                fmt::format("Compression type '{}' unknown, disabling compression support.", name));
  }
  return Compression::kNone;
}

std::vector<std::string> excluded_folders(std::string_view list) {
  if (iequals(list, "none")) return {};
  return split_list(list);
}

// An open file, read block by block.
struct Broadcast::Source {
  int fd = -1;
  struct stat about {};
  std::string path;

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (fd >= 0) ::close(fd);
  }
  // 0 or an exit status; complains.
  int open(const std::string& command, const std::string& name) {
    path = name;
    fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::fstat(fd, &about) != 0) {
      print_error(command, fmt::format("Can't open `{}`: {}", name, errno_text(errno)));
      return kFailed;
    }
    if (!S_ISREG(about.st_mode)) {
      print_error(command, fmt::format("Can't mmap file `{}`, {}.", name, errno_text(ENODEV)));
      return kFailed;
    }
    if (about.st_size == 0) print_error(command, fmt::format("Warning: file `{}` is empty.", name));
    return 0;
  }
  // Up to `size` bytes; fewer at the end only. Nothing: errno says why.
  [[nodiscard]] std::optional<std::string> read(size_t size) const {
    std::string bytes(size, '\0');
    size_t filled = 0;
    while (filled < size) {
      const ssize_t n = ::read(fd, bytes.data() + filled, size - filled);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return std::nullopt;
      if (n == 0) break;
      filled += static_cast<size_t>(n);
    }
    bytes.resize(filled);
    return bytes;
  }
};

int Broadcast::send(JobId job, StepNumber step, const std::string& name) {
  return send({{job, step, {}}, name});
}

int Broadcast::send_to(const std::string& nodes) {
  return send({{kNoJob, protocol::kWholeJob, nodes}, {}});
}

int Broadcast::send(const Receivers& receivers) {
  Source source;
  if (const int status = source.open(options_.command, options_.source); status != 0) return status;
  show_source(source);
  if (const int status = get_ticket(receivers); status != 0) return status;
  if (const int status = send_file(source, {}); status != 0) return status;
  return options_.send_libraries ? send_libraries() : 0;
}

void Broadcast::show_source(const Source& source) const {
  if (options_.verbose == 0) return;
  const auto line = [this](std::string_view key, const std::string& value) {
    say(options_.command, fmt::format("{:<8} = {}", key, value));
  };
  line("modes", fmt::format("{:o}", source.about.st_mode));
  line("uid", std::to_string(source.about.st_uid));
  line("gid", std::to_string(source.about.st_gid));
  line("atime", date_text(source.about.st_atime));
  line("mtime", date_text(source.about.st_mtime));
  line("ctime", date_text(source.about.st_ctime));
  line("size", std::to_string(source.about.st_size));
}

int Broadcast::report_refusal(const Receivers& receivers, const Error& error) const {
  if (receivers.name.empty()) {
    print_error(options_.command, fmt::format("REQUEST_FILE_BCAST({}): {}",
                                              receivers.request.node_list, error_text(error)));
  } else {
    const bool of_another = error.code == ErrorCode::kAccessDenied;
    const std::string why =
        of_another ? std::string(error_sentence(ErrorCode::kInvalidUser)) : error_text(error);
    print_error(options_.command,
                fmt::format("Slurm job {} lookup error: {}", receivers.name, why));
  }
  return kFailed;
}

int Broadcast::get_ticket(const Receivers& receivers) {
  auto reply = client_.call<protocol::BroadcastTicketReply>(receivers.request);
  if (!reply) return report_refusal(receivers, reply.error());
  ticket_ = std::move(*reply);
  const auto ticket = wire::decode<protocol::BroadcastTicket>(ticket_.ticket);
  if (!ticket || ticket->nodes.empty())
    return report_refusal(receivers, {ErrorCode::kError, "it has no nodes"});
  nodes_ = ticket->nodes;
  if (options_.verbose > 0) {
    if (!receivers.name.empty())
      say(options_.command, fmt::format("jobid      = {}", receivers.name));
    say(options_.command, fmt::format("node_list  = {}", ticket_.node_list));
  }
  return 0;
}

int Broadcast::send_file(Source& source, const std::string& suffix) {
  const auto began = std::chrono::steady_clock::now();
  BroadcastBlock block;
  block.transfer = new_request_id();
  block.path = options_.destination;
  block.per_node = options_.per_node;
  block.suffix = suffix;
  block.force = options_.force;
  block.preserve = options_.preserve;
  block.mode = source.about.st_mode & 07777;
  block.access_ns = nanoseconds(source.about.st_atim);
  block.change_ns = nanoseconds(source.about.st_mtim);
  size_t raw = 0, packed = 0;
  auto next = source.read(options_.block_bytes);
  for (block.number = 1;; ++block.number) {
    if (!next) {
      print_error(options_.command,
                  fmt::format("Can't read `{}`: {}", source.path, errno_text(errno)));
      block.action = BlockAction::kAbort;
      (void)send_block(std::move(block));
      return kFailed;
    }
    block.data = std::move(*next);
    next = block.data.size() < options_.block_bytes ? std::string()
                                                    : source.read(options_.block_bytes);
    block.last = next && next->empty();
    block.raw_bytes = static_cast<uint32_t>(block.data.size());
    raw += block.data.size();
    block.compression = options_.compression;
    if (block.compression == Compression::kLz4) {
      std::string out(static_cast<size_t>(LZ4_compressBound(static_cast<int>(block.raw_bytes))),
                      '\0');
      const int size =
          LZ4_compress_default(block.data.data(), out.data(), static_cast<int>(block.raw_bytes),
                               static_cast<int>(out.size()));
      out.resize(static_cast<size_t>(std::max(size, 0)));
      block.data = std::move(out);
      packed += block.data.size();
    }
    if (options_.verbose > 1)
      say(options_.command,
          fmt::format("debug:  block {}, size {}", block.number, block.data.size()));
    if (const int status = send_block(block); status != 0) {
      block.data.clear();
      block.action = BlockAction::kAbort;
      (void)send_block(std::move(block));
      return status;
    }
    if (block.last) break;
  }
  if (options_.verbose > 0 && options_.compression != Compression::kNone && raw > 0) {
    const auto spent = std::chrono::steady_clock::now() - began;
    const auto percent = (static_cast<int64_t>(raw) - static_cast<int64_t>(packed)) * 100 /
                         static_cast<int64_t>(raw);
    say(options_.command,
        fmt::format("File compressed from {} to {} ({} percent) in {} usec", raw, packed, percent,
                    std::chrono::duration_cast<std::chrono::microseconds>(spent).count()));
  }
  return 0;
}

int Broadcast::send_libraries() {
  const auto objects = shared_objects(options_.source, options_.exclude);
  const std::string folder = libraries_folder("");
  BroadcastBlock block;
  block.transfer = new_request_id();
  block.action = BlockAction::kFolder;
  block.path = options_.destination;
  block.per_node = options_.per_node;
  block.suffix = folder;
  if (const int status = send_block(std::move(block)); status != 0) return status;
  for (const std::string& object : objects) {
    Source source;
    if (const int status = source.open(options_.command, object); status != 0) return status;
    show_source(source);
    if (const int status = send_file(source, folder + object.substr(object.rfind('/')));
        status != 0)
      return status;
  }
  return 0;
}

// The first agent that can be reached passes it on.
Result<protocol::SendBlockReply> Broadcast::ask(const protocol::SendBlockRequest& request) {
  constexpr uint32_t kLevels = 8;  // of the deepest tree, and the way to it
  const Duration level =
      options_.timeout > Duration(0) ? options_.timeout : client_.config().message_timeout;
  Result<protocol::SendBlockReply> reply = failure(ErrorCode::kUnreachable);
  for (size_t tries = nodes_.size(); tries > 0; --tries) {
    NodeConfig node;
    node.name = nodes_.front().name;
    node.address = nodes_.front().host;
    node.port = static_cast<uint16_t>(nodes_.front().port);
    reply = client_.call_node<protocol::SendBlockReply>(node, request, level * kLevels);
    if (reply || reply.error().code != ErrorCode::kUnreachable) break;
    std::rotate(nodes_.begin(), nodes_.begin() + 1, nodes_.end());
  }
  return reply;
}

int Broadcast::send_block(BroadcastBlock block) {
  const bool quiet = block.action == BlockAction::kAbort;
  protocol::SendBlockRequest request;
  request.ticket = ticket_.ticket;
  request.signature = ticket_.signature;
  request.block = std::move(block);
  request.tree_width = options_.fanout;
  request.timeout = options_.timeout;
  const auto reply = ask(request);
  if (!reply) {
    if (!quiet)
      print_error(options_.command, fmt::format("REQUEST_FILE_BCAST({}): {}", nodes_.front().name,
                                                error_text(reply.error())));
    return kFailed;
  }
  int status = 0;
  for (const protocol::BlockFailure& failed : reply->failed) {
    const std::string why = failed.text.empty() ? errno_text(failed.error) : failed.text;
    if (!quiet)
      print_error(options_.command, fmt::format("REQUEST_FILE_BCAST({}): {}", failed.node, why));
    status = std::max(status, failed.error != 0 ? failed.error : kFailed);
  }
  return std::min(status, kFailed);
}

std::vector<std::string> Broadcast::nodes() const {
  std::vector<std::string> names;
  for (const protocol::NodeAddress& node : nodes_) names.push_back(node.name);
  return names;
}

void Broadcast::remove(std::vector<std::string> nodes) {
  if (nodes.empty() || nodes_.empty()) return;
  protocol::SendBlockRequest request;
  request.ticket = ticket_.ticket;
  request.signature = ticket_.signature;
  request.block.transfer = new_request_id();
  request.block.action = BlockAction::kRemove;
  request.block.path = options_.destination;
  request.block.per_node = options_.per_node;
  request.only = std::move(nodes);
  (void)ask(request);
}

}  // namespace sluice::cli
