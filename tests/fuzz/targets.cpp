#include "fuzz/targets.hpp"

namespace sluice::fuzz {

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const auto& some :
       {text_targets(), config_targets(), wire_targets(), network_targets(), file_targets()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace sluice::fuzz
