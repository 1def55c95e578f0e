// Configuration files, which a node may have from a controller.
#include "common/config/conf_parse.hpp"
#include "common/config/conf_syntax.hpp"
#include "fuzz/targets.hpp"

namespace sluice::fuzz {
namespace {

using tables::ConfLine;
using tables::ParsedConfig;

std::vector<ConfLine> lines_of(std::string_view text) {
  const auto none = [](const std::string&,
                       const std::string&) -> Result<std::vector<tables::ConfSource>> {
    return std::vector<tables::ConfSource>{{"other.conf", "ClusterName=other\n"}};
  };
  auto lines = tables::conf_lines({"slurm.conf", std::string(text)}, none);
  return lines ? std::move(*lines) : std::vector<ConfLine>();
}

void slurm_conf(std::string_view input) {
  (void)tables::parse_slurm_conf(lines_of(input));
  (void)tables::parse_slurm_conf(lines_of(input), tables::ConfigScope::kGlobalKeys);
}

// The file's kind is the first byte's.
void other_conf(std::string_view input) {
  constexpr Status (*kParsers[])(const std::vector<ConfLine>&, ParsedConfig&) = {
      tables::parse_cgroup_conf,    tables::parse_gres_conf,    tables::parse_topology_conf,
      tables::parse_container_conf, tables::parse_helpers_conf, tables::parse_mpi_conf};
  if (input.empty()) return;
  auto parsed = tables::parse_slurm_conf(
      lines_of("ClusterName=c\nSlurmctldHost=h\nTopologyPlugin=topology/tree\nGresTypes=gpu\n"
               "NodeName=n[1-4] CPUs=8 Gres=gpu:2\nPartitionName=p Nodes=ALL\n"));
  if (!parsed) return;
  (void)kParsers[static_cast<unsigned char>(input.front()) % std::size(kParsers)](
      lines_of(input.substr(1)), *parsed);
}

}  // namespace

std::vector<Target> config_targets() {
  return {{"slurm_conf", slurm_conf}, {"other_conf", other_conf}};
}

}  // namespace sluice::fuzz
