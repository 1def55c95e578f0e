// sluicestepd (slurmstepd): started by the node agent with its orders on descriptor 3; see
// common/protocol/stepd_start.hpp. Not for people.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/version.hpp"
#include "common/protocol/broadcast.hpp"
#include "common/protocol/container.hpp"
#include "common/step/frame.hpp"
#include "common/step/secure_stream.hpp"
#include "common/wire/codec.hpp"
#include "stepd/io/file_writer.hpp"
#include "stepd/process/namespace_maker.hpp"
#include "stepd/process/site_program.hpp"
#include "stepd/step_daemon.hpp"

namespace sluice::stepd {
namespace {

constexpr uint32_t kMaxStartBytes = 256U << 20;  // script and environment travel in it

// The start message, read as it comes; the socket is blocking still.
Result<protocol::StepdStart> read_start() {
  FrameReader reader(kMaxStartBytes);
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(protocol::kStartDescriptor, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failure("no start message on descriptor 3");
    reader.feed(std::string_view(buffer, static_cast<size_t>(n)));
    auto frame = reader.next();
    if (!frame) return tl::unexpected<Error>(frame.error());
    if (frame->has_value()) return wire::decode<protocol::StepdStart>((*frame)->body);
  }
}

// Before the start message: what a step would wait for is done while this daemon does.
void set_up_encryption() {
  char next = 0;
  const bool waits = ::recv(protocol::kStartDescriptor, &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (waits && std::getenv(protocol::kWillEncrypt) != nullptr) SecureStream::prepare();
}

// It was killed when the orders were on their way. The next agent is told that the step does not
// run here; one that began afterwards would run unseen, or beside its job's epilog.
bool agent_is_gone() {
  char next = 0;
  return ::recv(protocol::kStartDescriptor, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// Descriptors 0-2 are open, so that nothing else gets their numbers.
void hold_standard_descriptors() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd < 2) fd = ::dup(fd);
  if (fd > 2 && fd != protocol::kStartDescriptor) ::close(fd);
}

// The name and the folder behind it, where the kernel shows them; what is left of the room is cut
// off by who reads it.
void take_title(char** argv, const std::string& title) {
  if (title.empty() || argv[0] == nullptr || argv[1] == nullptr) return;
  // arguments lie behind one another
  const size_t room = std::strlen(argv[0]) + 1 + std::strlen(argv[1]) + 1;
  const std::string shown = title + '\0' + argv[1] + '\0';
  if (shown.size() > room) return;
  std::memset(argv[0], 0, room);
  std::memcpy(argv[0], shown.data(), shown.size());
}

int serve(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "-V") {
    std::printf("slurm %s\n", kSlurmVersion);
    return 0;
  }
  if (mode == protocol::kMakeNamespaceMode) return make_namespace(argc - 2, argv + 2);
  if (mode == protocol::kRemoveNamespaceMode) return remove_namespace(argc - 2, argv + 2);
  if (mode == protocol::kRunWhenToldMode)
    return run_when_told(protocol::kStartDescriptor, argc - 2, argv + 2);
  if (::fcntl(protocol::kStartDescriptor, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("slurmstepd is started by slurmd, not by hand\n", stderr);
    return protocol::kStepdBadStart;
  }
  ::close_range(protocol::kStartDescriptor + 1, ~0U, 0);
  hold_standard_descriptors();
  if (mode == protocol::kWriteFileMode) return write_files(protocol::kStartDescriptor);
  ::prctl(PR_SET_NAME, "slurmstepd");
  ::setsid();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  set_up_encryption();
  auto start = read_start();
  if (!start) return protocol::kStepdBadStart;
  auto launch = wire::decode<protocol::StepLaunch>(start->launch);
  const bool complete =
      launch && launch->job_spec != nullptr &&
      (launch->step == nullptr || start->node_index < launch->layout.nodes.size());
  if (!complete) return protocol::kStepdBadStart;
  start->launch.clear();
  take_title(argv, start->title);
  boost::asio::io_context io(1);
  StepDaemon daemon(io, std::move(*start), std::move(*launch), protocol::kStartDescriptor);
  if (agent_is_gone()) return protocol::kStepdBadStart;
  const int status = daemon.start();
  if (status == 0) io.run();
  return status;
}

}  // namespace
}  // namespace sluice::stepd

// The agent reports a step whose daemon ended without a report.
int main(int argc, char** argv) {
  try {
    return sluice::stepd::serve(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slurmstepd: fatal: %s\n", error.what());
  }
  return 1;
}
