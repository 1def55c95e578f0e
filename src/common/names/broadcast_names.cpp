#include "common/names/broadcast_names.hpp"

#include <fmt/format.h>

#include "common/names/step_names.hpp"

namespace sluice {

std::string node_file_name(std::string_view path, std::string_view node) {
  return fmt::format("{}_{}", path, node);
}

std::string step_file_name(std::string_view path, const StepId& step, std::string_view node) {
  const size_t slash = path.rfind('/');
  const std::string_view folder =
      slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1);
  return fmt::format("{}slurm_bcast_{}_{}", folder, step_id_text(step), node);
}

std::string libraries_folder(std::string_view path) { return std::string(path) + "_libs"; }

std::string library_path(std::string_view path, std::string_view before) {
  const std::string folder = libraries_folder(path);
  return before.empty() ? folder : fmt::format("{}:{}", folder, before);
}

}  // namespace sluice
