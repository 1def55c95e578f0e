// The entities in the database: read once, then kept; each change is read, decided and written in
// one transaction, so that of two administrators neither loses what he changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common/base/result.hpp"
#include "dbd/entities/change.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

class EntityStore {
 public:
  // `database` outlives it.
  EntityStore(Database& database, SiteRules rules)
      : database_(database), rules_(std::move(rules)) {}
  EntityStore(const EntityStore&) = delete;
  EntityStore& operator=(const EntityStore&) = delete;

  // Reads the entities; a database without any gets those of new_entities().
  [[nodiscard]] Status open();
  // From the next change on. Any thread.
  void use(SiteRules rules);
  // Called behind each commit with what is there then; on the thread that changed it.
  void on_change(std::function<void(std::shared_ptr<const Entities>)> tell);

  // As of the last commit of this process, or the last refresh(); never null after open().
  [[nodiscard]] std::shared_ptr<const Entities> current() const;

  // One change: decided on what the database holds, and written where it asks for that, is not
  // refused, and anything is new of it: else there is neither a version nor a transaction. Errors
  // are the database's; refusals are answers.
  [[nodiscard]] Result<protocol::ChangeAccountingReply> change(
      const protocol::ChangeAccountingRequest& request, const Actor& actor, Time now);
  // Several, all or none: with one that is denied none is written. Those that change nothing are
  // no hindrance.
  [[nodiscard]] Result<protocol::LoadAccountingReply> load(
      const protocol::LoadAccountingRequest& request, const Actor& actor, Time now);
  // What the daemon changes itself: `work` gives whether anything did.
  using Work = std::function<bool(Entities&, std::vector<protocol::TransactionRecord>&)>;
  [[nodiscard]] Status update(const Work& work);

  // Reads what another daemon has committed since.
  [[nodiscard]] Status refresh();

  // Those behind number `after` that match, in their order: as many as one answer should hold.
  struct TransactionPage {
    std::vector<protocol::TransactionRecord> records;  // may be empty where there are more
    uint64_t more_after = 0;                           // 0: there are no more
  };
  [[nodiscard]] Result<TransactionPage> transactions(const protocol::AccountingConditions& where,
                                                     uint64_t after) const;

 private:
  // As decide_change(), on a session of a transaction: with jobs that are not over it is refused.
  [[nodiscard]] static Status decide(Session& sql, const Entities& before,
                                     const protocol::ChangeAccountingRequest& request,
                                     const Actor& actor, Time now, ChangeOutcome& outcome);
  // Within a write: what the database holds now.
  [[nodiscard]] std::shared_ptr<const Entities> newest(Session& sql) const;
  void publish(std::shared_ptr<const Entities> entities);
  [[nodiscard]] SiteRules rules() const;

  Database& database_;
  mutable std::mutex mutex_;
  SiteRules rules_;                          // guarded by mutex_
  std::shared_ptr<const Entities> current_;  // guarded by mutex_
  std::function<void(std::shared_ptr<const Entities>)> tell_;
};

}  // namespace sluice::dbd
