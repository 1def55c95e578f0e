// A small tree of accounts, filled in by hand: root > physics > {ann, bob}, root > chem > ann.
#pragma once

#include <gtest/gtest.h>

#include "ctld/state/core/charging.hpp"
#include "ctld/state/limits/limits.hpp"

namespace sluice::state {

inline constexpr AssociationId kRootId = 1, kPhysics = 2, kChem = 3, kAnnPhysics = 4,
                               kBobPhysics = 5, kAnnChem = 6;
inline constexpr QosId kNormal = 1, kHigh = 2, kPartQos = 3;
inline constexpr uint32_t kAnnUid = 1001, kBobUid = 1002;
inline constexpr TresId kGpu = 1001, kGpuA100 = 1002, kMatlab = 1003, kBurst = 1004;

inline AssociationRecord association(AssociationId id, AssociationId parent, const char* account,
                                     const char* user = "") {
  AssociationRecord record;
  record.id = id;
  record.parent = parent;
  record.cluster = "test";
  record.account = account;
  record.user = user;
  record.qos = {kNormal, kHigh};
  return record;
}

inline AccountingRecords small_site() {
  AccountingRecords site;
  site.version = 1;
  site.tres = {{1, "cpu", ""},
               {2, "mem", ""},
               {3, "energy", ""},
               {4, "node", ""},
               {5, "billing", ""},
               {6, "fs", "disk"},
               {7, "vmem", ""},
               {8, "pages", ""},
               {kGpu, "gres", "gpu"},
               {kGpuA100, "gres", "gpu:a100"},
               {kMatlab, "license", "matlab"},
               {kBurst, "bb", "datawarp"}};
  site.accounts = {{"chem", "", "", {}}, {"physics", "", "", {"bob"}}, {"root", "", "", {}}};
  site.users = {{"ann", AdminLevel::kNone, ""}, {"bob", AdminLevel::kNone, ""}};
  site.associations = {association(kRootId, 0, "root"),
                       association(kPhysics, kRootId, "physics"),
                       association(kChem, kRootId, "chem"),
                       association(kAnnPhysics, kPhysics, "physics", "ann"),
                       association(kBobPhysics, kPhysics, "physics", "bob"),
                       association(kAnnChem, kChem, "chem", "ann")};
  site.associations[3].is_default = true;
  site.associations[4].is_default = true;
  for (const auto& [id, name] :
       {std::pair{kNormal, "normal"}, {kHigh, "high"}, {kPartQos, "part"}}) {
    QosRecord qos;
    qos.id = id;
    qos.name = name;
    site.qos.push_back(qos);
  }
  return site;
}

inline Accounting accounting_of(const AccountingRecords& site) {
  Accounting accounting;
  accounting.version = site.version;
  accounting.tres = std::make_shared<TresTable>(site.tres);
  auto accounts = std::make_shared<AccountTable>();
  for (const AccountRecord& account : site.accounts) accounts->emplace(account.name, account);
  accounting.accounts = accounts;
  for (const AssociationRecord& one : site.associations)
    accounting.associations.insert(one.id, one);
  for (const QosRecord& qos : site.qos) accounting.qos.insert(qos.id, qos);
  rebuild_names(accounting);
  return accounting;
}

}  // namespace sluice::state
