#include "cli/options/batch_script.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "cli/options/find_in_path.hpp"
#include "cli/options/submit_env.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

std::string find_script(const std::string& name, const std::string& chdir) {
  if (name.starts_with('/')) return name;
  std::string here = working_folder() + "/" + name;
  if (!chdir.empty() && !name.starts_with('.')) {
    const std::string folder = chdir.starts_with('/') ? chdir : working_folder() + "/" + chdir;
    std::string there = folder + "/" + name;
    if (access(there.c_str(), R_OK) == 0) return there;
  }
  if (name.find('/') != std::string::npos || access(here.c_str(), R_OK) == 0) return here;
  return find_in_path(name, R_OK, working_folder()).value_or(here);
}

}  // namespace

Result<std::string> read_script(const std::string& name, const std::string& chdir,
                                std::string& path) {
  int fd = STDIN_FILENO;
  if (!name.empty()) {
    path = find_script(name, chdir);
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failure("Unable to open file " + name);
  }
  std::string text;
  char buffer[65536];
  while (text.size() <= kMaxScriptBytes) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // a folder, too: what is wrong with it shows in its (empty) text
    text.append(buffer, static_cast<size_t>(got));
  }
  if (fd != STDIN_FILENO) ::close(fd);
  return text;
}

std::string wrap_script(std::string_view command) {
  return "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + std::string(command) + "\n";
}

std::vector<std::string> script_faults(std::string_view script) {
  if (script.empty()) return {"Batch script is empty!"};
  if (trim(script).empty()) return {"Batch script contains only whitespace!"};
  if (!script.starts_with("#!")) {
    return {"This does not look like a batch script.  The first",
            "line must start with #! followed by the path to an interpreter.",
            "For instance: #!/bin/sh"};
  }
  if (script.find('\0') != std::string_view::npos) {
    return {"The Slurm controller does not allow scripts that", "contain a NULL character '\\0'."};
  }
  if (script.find("\r\n") != std::string_view::npos) {
    return {"Batch script contains DOS line breaks (\\r\\n)",
            "instead of expected UNIX line breaks (\\n)."};
  }
  if (script.size() > kMaxScriptBytes) {
    return {
        "Batch job submission failed: Pathname of a file, directory or other parameter too long"};
  }
  return {};
}

}  // namespace sluice::cli
