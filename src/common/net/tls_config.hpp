// Where slurm.conf says that connections are encrypted (TLSType=tls/s2n), and which files of
// TLSParameters that takes. A file that is not named stands beside slurm.conf under Slurm's name
// for it; the CA's may also be named by $SLURM_CA_CERT_FILE.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "common/net/tls.hpp"

namespace sluice::net {

inline constexpr const char* kCaFile = "ca_cert.pem";
inline constexpr const char* kControllerCertificate = "ctld_cert.pem";
inline constexpr const char* kControllerKey = "ctld_cert_key.pem";
inline constexpr const char* kAgentCertificate = "slurmd_cert.pem";
inline constexpr const char* kAgentKey = "slurmd_cert_key.pem";

inline constexpr const char* kAccountingCertificate = "dbd_cert.pem";
inline constexpr const char* kAccountingKey = "dbd_cert_key.pem";

// What a daemon shows to who asks it.
struct TlsFiles {
  std::string ca;
  std::string certificate;
  std::string key;
};

[[nodiscard]] bool uses_tls(const ClusterConfig& config);
[[nodiscard]] bool is_tls(std::string_view tls_type);
// TLSParameters names some file: nothing is made in its place.
[[nodiscard]] bool names_tls_files(const ClusterConfig& config);
// The CA for a configuration at this path, where TLSParameters names none.
[[nodiscard]] std::string usual_ca_file(const std::string& config_path);
[[nodiscard]] TlsFiles controller_tls_files(const ClusterConfig& config);
// %n and %h in their names are the node's.
[[nodiscard]] TlsFiles agent_tls_files(const ClusterConfig& config, const NodeConfig& self);

// Of the accounting daemon, by TLSParameters of slurmdbd.conf (or slurm.conf), which is at this
// path.
[[nodiscard]] TlsFiles accounting_tls_files(const std::string& config_path,
                                            const std::vector<std::string>& parameters);
[[nodiscard]] TlsFiles accounting_tls_files(const ClusterConfig& config);

// Whom a client of this cluster believes; null where nothing is encrypted. Errors: as
// TlsTrust::open.
[[nodiscard]] Result<std::shared_ptr<TlsTrust>> tls_trust(const ClusterConfig& config);

// The same for who has no configuration yet: what says that the controller speaks TLS is that this
// host has its CA's certificate, where usual_ca_file() is. Null: there is none.
[[nodiscard]] Result<std::shared_ptr<TlsTrust>> local_tls_trust(const std::string& config_path);

}  // namespace sluice::net
