// Connections. The backends of servers are SOCI's shared libraries, loaded when one is configured:
// a daemon with SQLite needs neither them nor a client library.
#include <cctype>

#include <dlfcn.h>
#include <fmt/format.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <soci/version.h>

#include "common/base/text.hpp"
#include "dbd/store/errors.hpp"
#include "dbd/store/session.hpp"

namespace sluice::dbd {
namespace {

constexpr int kBusySeconds = 10;  // another process (a backup) may have a file so long

// NAME='VALUE', as SOCI reads it for MariaDB.
std::string pair(std::string_view name, std::string_view value) {
  std::string out = fmt::format(" {}='", name);
  for (const char c : value) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

std::string mariadb_text(const Storage& storage, const std::string& host) {
  std::string out = "charset=utf8mb4 connect_timeout=10 read_timeout=300 write_timeout=60";
  out += pair(host.starts_with('/') ? "unix_socket" : "host", host);
  if (storage.port != 0) out += fmt::format(" port={}", storage.port);
  out += pair("user", storage.user) + pair("password", storage.password);
  out += pair("dbname", storage.name);
  if (!storage.ssl_ca.empty()) out += pair("sslca", storage.ssl_ca);
  if (!storage.ssl_cert.empty()) out += pair("sslcert", storage.ssl_cert);
  if (!storage.ssl_key.empty()) out += pair("sslkey", storage.ssl_key);
  return out;
}

// For a URL, with all but letters and digits in hexadecimal.
std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && std::isalnum(byte) != 0;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

// A URL: what is quoted in the other form does not reach libpq as it was.
std::string postgresql_text(const Storage& storage, const std::string& host) {
  std::string out = fmt::format("postgresql://{}:{}@/{}?host={}", encoded(storage.user),
                                encoded(storage.password), encoded(storage.name), encoded(host));
  out +=
      "&client_encoding=UTF8&application_name=sluicedbd&connect_timeout=10&keepalives_idle=30"
      "&keepalives_interval=10&keepalives_count=3&tcp_user_timeout=60000";
  if (storage.port != 0) out += fmt::format("&port={}", storage.port);
  if (!storage.ssl_ca.empty()) out += "&sslmode=verify-ca&sslrootcert=" + encoded(storage.ssl_ca);
  if (!storage.ssl_cert.empty()) out += "&sslcert=" + encoded(storage.ssl_cert);
  if (!storage.ssl_key.empty()) out += "&sslkey=" + encoded(storage.ssl_key);
  return out;
}

// SOCI's backend of a server, for as long as the process lives.
Result<const soci::backend_factory*> load_backend(const Dialect& dialect) {
  const std::string library = fmt::format("libsoci_{}.so.{}.{}", dialect.backend,
                                          SOCI_VERSION / 100000, SOCI_VERSION / 100 % 1000);
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string symbol = fmt::format("factory_{}", dialect.backend);
  using Factory = const soci::backend_factory* (*)();
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym gives
  auto factory =
      handle == nullptr ? nullptr : reinterpret_cast<Factory>(::dlsym(handle, symbol.c_str()));
  if (factory == nullptr)
    return failure(ErrorCode::kInvalidConfig,
                   // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread
                   fmt::format("StorageType={} needs {}, of the package {}: {}", dialect.title,
                               library, dialect.package, ::dlerror()));
  return factory();
}

std::unique_ptr<Session> with_settings(std::unique_ptr<Session> sql) {
  for (const std::string_view statement : sql->dialect().connected) *sql << std::string(statement);
  return sql;
}

// Errors: what the server says of itself is not what it has to be.
Status check_server(Session& sql) {
  const Dialect& dialect = sql.dialect();
  std::string said;
  sql << std::string(dialect.about_server), soci::into(said);
  if (said.find(dialect.server_is) != std::string::npos) return {};
  return failure(ErrorCode::kInvalidConfig,
                 fmt::format("{} is wanted, and the server has \"{}\"", dialect.server_is, said));
}

Result<std::unique_ptr<Session>> connect_host(const Storage& storage, const std::string& host,
                                              const soci::backend_factory& factory) {
  const Dialect& dialect = dialect_of(storage.engine);
  const std::string where = fmt::format("{}, {}", storage.text(), host);
  std::unique_ptr<Session> sql;
  Status done = guarded(where, [&]() -> Status {
    const std::string text = storage.engine == Engine::kMariaDb ? mariadb_text(storage, host)
                                                                : postgresql_text(storage, host);
    sql = std::make_unique<Session>(dialect, factory, text);
    if (Status ok = check_server(*sql); !ok) return ok;
    sql = with_settings(std::move(sql));
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  return sql;
}

}  // namespace

std::string Storage::text() const {
  if (engine == Engine::kSqlite) return name;
  return fmt::format("{} database {} of user {}", dialect_of(engine).title, name, user);
}

Result<std::unique_ptr<Session>> connect(const Storage& storage) {
  const Dialect& dialect = dialect_of(storage.engine);
  if (storage.engine == Engine::kSqlite) {
    std::unique_ptr<Session> sql;
    Status done = guarded(storage.name, [&]() -> Status {
      sql = with_settings(std::make_unique<Session>(
          dialect, *soci::factory_sqlite3(),
          fmt::format("db=\"{}\" timeout={} nocreate=1", storage.name, kBusySeconds)));
      return {};
    });
    if (!done) return tl::unexpected<Error>(done.error());
    return sql;
  }
  const auto factory = load_backend(dialect);
  if (!factory) return tl::unexpected<Error>(factory.error());
  Result<std::unique_ptr<Session>> sql = failure("no host");
  for (const std::string& host : storage.hosts) {
    auto tried = connect_host(storage, host, **factory);
    if (tried) return tried;
    // of several the first error stays: it is of the host that should be there
    if (&host == &storage.hosts.front()) sql = std::move(tried);
  }
  return sql;
}

}  // namespace sluice::dbd
