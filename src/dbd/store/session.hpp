// A connection to the database, which knows its dialect.
#pragma once

#include <memory>
#include <string>

#include <soci/soci.h>

#include "common/base/result.hpp"
#include "dbd/store/dialect.hpp"

namespace sluice::dbd {

class Session : public soci::session {
 public:
  Session(const Dialect& dialect, const soci::backend_factory& factory,
          const std::string& connection)
      : soci::session(factory, connection), dialect_(dialect) {}

  [[nodiscard]] const Dialect& dialect() const { return dialect_; }

  // Bytes as they are bound for a column of bytes.
  [[nodiscard]] std::string bytes(std::string value) const;
  // What was read of such a column, turned back in its place.
  std::string& read_bytes(std::string& column) const;
  // A text as this database takes it: servers refuse what is no UTF-8. It becomes visible, byte by
  // byte, as control characters do.
  [[nodiscard]] std::string text(const std::string& value) const;

 private:
  const Dialect& dialect_;
};

// Connects to one of the storage's hosts. Errors name what is wrong, and never the password.
[[nodiscard]] Result<std::unique_ptr<Session>> connect(const Storage& storage);

}  // namespace sluice::dbd
