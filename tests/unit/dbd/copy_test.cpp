// `sluicedbd copy`: all tables, from a file of SQLite to each kind of database and back.
#include "dbd/import/copy.hpp"

#include <set>

#include "common/model/history.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/store/entity_store.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

const Time kCopied = from_seconds(1'760'000'000);

using Texts = std::set<std::string>;

TEST(CopiedTables, AreAllOfTheSchema) {
  sluice::test::TempFolder folder;
  auto database = Database::open(sqlite_file(folder / "accounting.db"));
  ASSERT_TRUE(database) << database.error().text;
  Texts wanted, found;
  ASSERT_TRUE((*database)->read([&](Session& sql) -> Status {
    std::string table, column;
    soci::statement columns =
        (sql.prepare << "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) "
                        "AS c WHERE t.type = 'table' AND t.name <> 'accounting_version'",
         soci::into(table), soci::into(column));
    columns.execute();
    while (columns.fetch()) wanted.insert(table + "." + column);
    return {};
  }));
  for (const CopiedTable& table : copied_tables()) {
    for (const CopiedColumn& column : table.columns)
      found.insert(std::string(table.name) + "." + std::string(column.name));
  }
  EXPECT_EQ(found, wanted);
}

class CopyTest : public test::WithStorage {
 protected:
  // What a database has, a line a row: texts as they are, bytes in the form of SQLite.
  static Texts rows_of(const Storage& storage) {
    Texts out;
    auto sql = connect(storage);
    EXPECT_TRUE(sql) << sql.error().text;
    for (const CopiedTable& table : copied_tables()) {
      for (const CopiedColumn& column : table.columns) {
        std::string text;
        long long number = 0;
        soci::statement select(**sql);
        if (column.kind == ColumnKind::kNumber) select.exchange(soci::into(number));
        else select.exchange(soci::into(text));
        select.alloc();
        select.prepare("SELECT \"" + std::string(column.name) + "\" FROM \"" +
                       std::string(table.name) + "\"");
        select.define_and_bind();
        select.execute();
        while (select.fetch()) {
          if (column.kind == ColumnKind::kNumber) text = std::to_string(number);
          if (column.kind == ColumnKind::kBytes) (*sql)->read_bytes(text);
          out.insert(std::string(table.name) + "." + std::string(column.name) + "=" + text);
        }
      }
    }
    return out;
  }
  static Result<CopyCounts> copy(const Storage& from, const Storage& to) {
    auto source = connect(from);
    EXPECT_TRUE(source) << source.error().text;
    auto target = Database::open(to);
    EXPECT_TRUE(target) << target.error().text;
    return copy_database(**source, "the source", **target);
  }
  // Jobs with hostile texts and steps, an event, a script, accounts, and sums of usage.
  static void fill(const Storage& storage) {
    auto database = Database::open(storage);
    ASSERT_TRUE(database) << database.error().text;
    EntityStore entities(**database, {});
    ASSERT_TRUE(entities.open());
    std::vector<std::string> records;
    for (uint32_t i = 1; i <= 20; ++i) {
      JobHistory job;
      job.id = i;
      job.submit = job.eligible = job.start = kCopied;
      job.end = kCopied + std::chrono::hours(2);
      job.account = "acc'\x01\xff" + std::to_string(i);
      job.state = JobState::kCompleted;
      StepHistory step;
      step.id = {i, 0};
      step.job_submit = kCopied;
      HistoryRecord record;
      record.job = std::make_shared<const JobHistory>(job);
      record.step = std::make_shared<const StepHistory>(step);
      records.push_back(wire::encode(record));
    }
    HistoryRecord other;
    NodeHistory node;
    node.node = "n1";
    node.start = kCopied;
    other.node = std::make_shared<const NodeHistory>(node);
    ClusterHistory cluster;
    cluster.time = kCopied;
    other.cluster = std::make_shared<const ClusterHistory>(cluster);
    other.blob = std::make_shared<const BlobHistory>(
        BlobHistory{std::string("key\0\x02", 5), std::string("#!\n\0\xfe", 5)});
    records.push_back(wire::encode(other));
    protocol::StoreHistoryRequest request;
    request.cluster = "trial";
    request.stream = "stream";
    request.first = 1;
    request.records = std::move(records);
    ASSERT_TRUE(store_history(**database, request, kCopied));
  }
};

TEST_P(CopyTest, ThereAndBackIsTheSame) {
  const Storage first = sqlite_file(folder / "first.db"), back = sqlite_file(folder / "back.db");
  fill(first);
  const auto there = copy(first, storage);
  ASSERT_TRUE(there) << there.error().text;
  EXPECT_EQ(there->of("job"), 20U);
  EXPECT_EQ(there->of("step"), 20U);
  EXPECT_GT(there->of("qos"), 0U);
  const auto here = copy(storage, back);
  ASSERT_TRUE(here) << here.error().text;
  EXPECT_EQ(here->rows, there->rows);
  if (is_file()) { EXPECT_EQ(rows_of(back), rows_of(first)); }
  EXPECT_EQ(rows_of(back), rows_of(storage));
}

TEST_P(CopyTest, NewRowsGetNumbersOfTheirOwn) {
  const Storage first = sqlite_file(folder / "first.db");
  fill(first);
  ASSERT_TRUE(copy(first, storage));
  auto database = Database::open(storage);
  ASSERT_TRUE(database);
  protocol::StoreHistoryRequest request;
  request.cluster = "trial";
  request.stream = "stream";
  request.first = 22;
  HistoryRecord record;
  JobHistory job;
  job.id = 99;
  job.submit = kCopied;
  record.job = std::make_shared<const JobHistory>(job);
  request.records = {wire::encode(record)};
  const auto stored = store_history(**database, request, kCopied);
  ASSERT_TRUE(stored) << stored.error().text;
  EXPECT_EQ(stored->last, 22U) << "the controller goes on where it was";
}

TEST_P(CopyTest, RefusesWhatIsNotEmptyOrNoDatabaseOfTheDaemon) {
  const Storage first = sqlite_file(folder / "first.db"), other = sqlite_file(folder / "other.db");
  fill(first);
  ASSERT_TRUE(copy(first, storage));
  const Texts before = rows_of(storage);
  const auto again = copy(first, storage);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().text.find("is not empty (table cluster)"), std::string::npos)
      << again.error().text;
  EXPECT_EQ(rows_of(storage), before);
  auto file = Database::open(other);  // makes it
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write([](Session& sql) -> Status {
    sql << "UPDATE accounting_version SET version = 1";
    return {};
  }));
  const auto old = copy(other, sqlite_file(folder / "third.db"));
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().text.find("the source has version 1"), std::string::npos);
}

SLUICE_STORAGES(CopyTest);

}  // namespace
}  // namespace sluice::dbd
