// The databases that tests of the store run on: SQLite, and the servers whose slurmdbd.conf
// tests/system/databases.py names in the environment. Each test has an empty one.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dbd/config/dbd_config.hpp"
#include "dbd/store/database.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::dbd::test {

inline std::vector<std::string> storages() {
  std::vector<std::string> out = {"SQLITE"};
  for (const char* kind : {"MARIADB", "POSTGRESQL"})
    if (std::getenv((std::string("SLUICE_TEST_") + kind).c_str()) != nullptr)
      out.emplace_back(kind);
  return out;
}

inline Storage server(const std::string& kind) {
  auto config = load_dbd_config(std::getenv(("SLUICE_TEST_" + kind).c_str()));
  EXPECT_TRUE(config) << config.error().text;
  return config->storage;
}

inline void empty(const Storage& storage) {
  auto sql = connect(storage);
  ASSERT_TRUE(sql) << sql.error().text;
  if (storage.engine == Engine::kMariaDb) {
    **sql << "DROP DATABASE " + storage.name;
    **sql << "CREATE DATABASE " + storage.name;
  } else {
    **sql << "DROP SCHEMA public CASCADE";
    **sql << "CREATE SCHEMA public";
  }
}

// GetParam() says which one.
class WithStorage : public ::testing::TestWithParam<std::string> {
 protected:
  WithStorage() {
    storage = GetParam() == "SQLITE" ? sqlite_file(folder / "accounting.db") : server(GetParam());
    if (GetParam() != "SQLITE") empty(storage);
  }
  [[nodiscard]] bool is_file() const { return storage.engine == Engine::kSqlite; }

  sluice::test::TempFolder folder;
  Storage storage;
};

#define SLUICE_STORAGES(suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(On, suite, ::testing::ValuesIn(::sluice::dbd::test::storages()), \
                           [](const auto& one) { return one.param; })

}  // namespace sluice::dbd::test
