#include "common/cgroup/oom_log.hpp"

#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/text.hpp"

namespace sluice::cgroup {
namespace {

constexpr std::string_view kMark = "oom-kill:";
constexpr size_t kLongestRecord = 8192;

// "oom-kill:constraint=…,task_memcg=GROUP,task=NAME,pid=PID,uid=UID"
std::optional<OomVictim> parse_line(std::string_view line) {
  constexpr std::string_view kGroup = ",task_memcg=";
  constexpr std::string_view kTask = ",task=";
  constexpr std::string_view kPid = ",pid=";
  constexpr std::string_view kUid = ",uid=";
  const size_t group = line.find(kGroup);
  const size_t task = line.find(kTask, group == line.npos ? line.size() : group + kGroup.size());
  const size_t pid = line.rfind(kPid);  // a name may hold anything
  const size_t uid = line.rfind(kUid);
  if (task == line.npos || pid == line.npos || uid == line.npos || pid < task || uid < pid) {
    return std::nullopt;
  }
  const size_t name = task + kTask.size();
  const size_t number = pid + kPid.size();
  OomVictim victim;
  victim.group = line.substr(group + kGroup.size(), task - group - kGroup.size());
  victim.name = line.substr(name, pid - name);
  victim.pid = to_number<pid_t>(line.substr(number, uid - number)).value_or(0);
  return victim;
}

// `below` may begin with folders that a container does not see.
bool is_within(std::string_view below, std::string_view group) {
  const size_t at = below.find(group);
  if (at == below.npos) return false;
  const std::string_view rest = below.substr(at + group.size());
  return rest.empty() || rest.front() == '/';
}

}  // namespace

std::vector<OomVictim> oom_victims(std::string_view log, std::string_view group) {
  std::vector<OomVictim> victims;
  for (const std::string& line : split(log, '\n')) {
    if (line.find(kMark) == line.npos) continue;
    auto victim = parse_line(line);
    if (victim && is_within(victim->group, group)) victims.push_back(std::move(*victim));
  }
  return victims;
}

std::string read_oom_log() {
  std::string log;
  const int fd = ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return log;
  char record[kLongestRecord];
  for (;;) {
    const ssize_t n = ::read(fd, record, sizeof record);
    if (n < 0 && (errno == EPIPE || errno == EINTR)) continue;  // EPIPE: some were written over
    if (n <= 0) break;
    const std::string_view text(record, static_cast<size_t>(n));
    if (text.find(kMark) != text.npos) log.append(text.substr(0, text.find('\n'))).append("\n");
  }
  ::close(fd);
  return log;
}

}  // namespace sluice::cgroup
