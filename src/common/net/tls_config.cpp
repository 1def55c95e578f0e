#include "common/net/tls_config.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/base/text.hpp"
#include "common/model/config_value.hpp"

namespace sluice::net {
namespace {

std::string beside(const std::string& config_path, const std::string& name) {
  const size_t slash = config_path.rfind('/');
  return (slash == std::string::npos ? "." : config_path.substr(0, slash)) + "/" + name;
}

std::vector<std::string> parameters_of(const ClusterConfig& config) {
  return split_list(config_value(config, "TLSParameters"));
}

std::string ca_file(const std::string& config_path, const std::vector<std::string>& parameters) {
  const auto named = option_value(parameters, "ca_cert_file");
  return named ? *named : usual_ca_file(config_path);
}

std::string ca_file(const ClusterConfig& config) {
  return ca_file(config.config_path, parameters_of(config));
}

}  // namespace

bool uses_tls(const ClusterConfig& config) { return is_tls(config_value(config, "TLSType")); }

bool is_tls(std::string_view tls_type) {
  return !tls_type.empty() && !iequals(tls_type, "tls/none");
}

bool names_tls_files(const ClusterConfig& config) {
  const auto is_file = [](const std::string& one) {
    return one.find("_file=") != std::string::npos;
  };
  return std::ranges::any_of(parameters_of(config), is_file);
}

std::string usual_ca_file(const std::string& config_path) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment of these programs
  const char* named = std::getenv("SLURM_CA_CERT_FILE");
  return named != nullptr && *named != '\0' ? named : beside(config_path, kCaFile);
}

TlsFiles controller_tls_files(const ClusterConfig& config) {
  const std::vector<std::string> parameters = parameters_of(config);
  const auto certificate = option_value(parameters, "ctld_cert_file");
  const auto key = option_value(parameters, "ctld_cert_key_file");
  return {ca_file(config), certificate.value_or(beside(config.config_path, kControllerCertificate)),
          key.value_or(beside(config.config_path, kControllerKey))};
}

TlsFiles agent_tls_files(const ClusterConfig& config, const NodeConfig& self) {
  const std::vector<std::string> parameters = parameters_of(config);
  const auto certificate = option_value(parameters, "slurmd_cert_file");
  const auto key = option_value(parameters, "slurmd_cert_key_file");
  return {ca_file(config),
          node_path(certificate.value_or(beside(config.config_path, kAgentCertificate)), self),
          node_path(key.value_or(beside(config.config_path, kAgentKey)), self)};
}

TlsFiles accounting_tls_files(const std::string& config_path,
                              const std::vector<std::string>& parameters) {
  const auto certificate = option_value(parameters, "dbd_cert_file");
  const auto key = option_value(parameters, "dbd_cert_key_file");
  return {ca_file(config_path, parameters),
          certificate.value_or(beside(config_path, kAccountingCertificate)),
          key.value_or(beside(config_path, kAccountingKey))};
}

TlsFiles accounting_tls_files(const ClusterConfig& config) {
  return accounting_tls_files(config.config_path, parameters_of(config));
}

Result<std::shared_ptr<TlsTrust>> tls_trust(const ClusterConfig& config) {
  if (!uses_tls(config)) return std::shared_ptr<TlsTrust>();
  return TlsTrust::open(ca_file(config));
}

Result<std::shared_ptr<TlsTrust>> local_tls_trust(const std::string& config_path) {
  const std::string file = usual_ca_file(config_path);
  const bool wanted = file != beside(config_path, kCaFile) || stamp_of(file).bytes >= 0;
  return wanted ? TlsTrust::open(file) : std::shared_ptr<TlsTrust>();
}

}  // namespace sluice::net
