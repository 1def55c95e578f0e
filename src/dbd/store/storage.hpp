// Which database the daemon keeps its records in, and how it gets there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::dbd {

enum class Engine : uint8_t { kSqlite, kMariaDb, kPostgresql };

struct Storage {
  Engine engine = Engine::kSqlite;
  std::string name;  // StorageLoc: a file of SQLite, else a database of the server
  // Of servers. A host that is a path is a Unix socket (of PostgreSQL: the socket's folder).
  std::vector<std::string> hosts;  // StorageHost, StorageBackupHost: tried in this order
  uint32_t port = 0;               // 0: the server's usual one
  std::string user, password;
  std::string ssl_ca, ssl_cert, ssl_key;  // paths

  // As it stands in errors and the log; without the password.
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] inline Storage sqlite_file(std::string path) {
  Storage out;
  out.name = std::move(path);
  return out;
}

}  // namespace sluice::dbd
