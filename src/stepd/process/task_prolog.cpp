#include "stepd/process/task_prolog.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::stepd {

std::string apply_task_prolog(std::string_view output, Environment& env) {
  std::string printed;
  while (!output.empty()) {
    std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    const auto takes = [&line](std::string_view verb) {
      if (!line.starts_with(verb)) return false;
      line.remove_prefix(verb.size());
      return true;
    };
    if (takes("export ")) {
      const size_t equals = line.find('=');
      const std::string_view name = trim(line.substr(0, equals));
      if (equals != std::string_view::npos && !name.empty()) env.set(name, line.substr(equals + 1));
    } else if (takes("unset ")) {
      env.unset(trim(line));
    } else if (takes("print ")) {
      printed.append(line).append("\n");
    }
  }
  return printed;
}

}  // namespace sluice::stepd
