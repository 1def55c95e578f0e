// What differs between databases. Statements elsewhere are of the SQL that SQLite, MariaDB and
// PostgreSQL have in common: names that one of them reserves stand in double quotes, what is
// replaced is looked for first, and bytes go through Session::bytes().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dbd/store/storage.hpp"

namespace sluice::dbd {

struct Dialect {
  Engine engine;
  std::string_view title;    // "MariaDB"
  std::string_view backend;  // SOCI's name of it, where it is loaded at run time: "mysql"
  std::string_view package;  // Debian's, that has this backend

  // What a server is asked about itself, and what has to be in its answer.
  std::string_view about_server, server_is;
  // Statements of a new connection.
  std::vector<std::string_view> connected;
  // Those behind the beginning of what writes keep all other writers out until its end, those of
  // other daemons, too: each decides on what the one before has committed.
  std::vector<std::string_view> begin_write;
  // All of it sees the database as it was at its beginning.
  std::string_view begin_read;
  // Keep others from changing tables; before and behind a migration.
  std::string_view lock_schema, unlock_schema;
  // How many tables of this name there are, and how many in all.
  std::string_view count_table, count_tables;
  // Numbers of a table ({}) that the database gives go on behind the highest; empty: by itself.
  std::string_view set_number;
  bool hex_bytes = false;  // bytes are bound, and read, as "\x0a0b"

  // A statement of the schema: $ID a number that the database gives, $TEXT, $NAME and $KEY (texts
  // and bytes, 250 at most), $BYTES, and $TABLE at the end of a table.
  [[nodiscard]] std::string schema(std::string_view statement) const;
};

[[nodiscard]] const Dialect& dialect_of(Engine engine);

}  // namespace sluice::dbd
