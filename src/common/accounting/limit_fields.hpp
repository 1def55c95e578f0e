// The limits and numbers of associations and QOS, a row each: what sacctmgr calls them, where a
// record keeps them, and in which units they are written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/accounting.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::accounting {

enum class LimitKind : uint8_t { kCount, kWall, kTres, kSeconds, kReal, kShares };

struct LimitRow {
  protocol::LimitField field;
  LimitKind kind;
  const char* association;  // its name in sacctmgr's settings; null: no limit of associations
  const char* qos;          // the same of a QOS
  const char* flat_file;    // in a line of `sacctmgr dump`; null: never there
  const char* column;       // in transactions: its name in the table
  bool inherited;           // by associations without one of their own
};
// In the order in which sacctmgr shows settings.
[[nodiscard]] std::span<const LimitRow> limit_rows();
[[nodiscard]] const LimitRow& limit_row(protocol::LimitField field);

// Where a record keeps the number; monostate where it has none such.
using LimitRef =
    std::variant<std::monostate, std::optional<uint32_t>*, uint32_t*, std::optional<Duration>*,
                 TresAmounts*, double*, std::optional<double>*>;
[[nodiscard]] LimitRef limit_of(AssociationRecord& record, protocol::LimitField field);
[[nodiscard]] LimitRef limit_of(QosRecord& record, protocol::LimitField field);

// Changes what `ref` points to; TRES that are not named keep their limits.
void set_limit(const LimitRef& ref, const protocol::LimitSetting& setting);
[[nodiscard]] bool is_set(const LimitRef& ref);
// As lists show it; empty where it is not set. `raw` gives TRES by their ids, wall in minutes.
[[nodiscard]] std::string limit_text(const LimitRef& ref, LimitKind kind,
                                     std::span<const TresRecord> tres, bool raw = false);

// "cpu", "gres/gpu:a100"
[[nodiscard]] std::string tres_name(const TresRecord& record);
// "cpu=100,mem=10G", in the order of the names; `raw`: "1=100,2=10240", as they are given
[[nodiscard]] std::string tres_text(const TresAmounts& amounts, std::span<const TresRecord> tres,
                                    bool raw = false);
// "cpu=4,mem=10g,gres/gpu=-1". -1 gives kClearTres. Memory is in MB without a suffix. Errors:
// Slurm's sentence about the type that is not known, or about what is no number.
[[nodiscard]] Result<TresAmounts> parse_tres(std::string_view text,
                                             std::span<const TresRecord> tres);

struct FlagName {
  QosFlags flag;
  const char* name;
};
[[nodiscard]] std::span<const FlagName> qos_flag_names();
[[nodiscard]] std::string qos_flags_text(QosFlags flags);
// Of one word, without case; nothing where it is no flag.
[[nodiscard]] std::optional<QosFlags> qos_flag(std::string_view word);

[[nodiscard]] const char* preempt_mode_text(QosPreemptMode mode);  // "cluster", "cancel"
[[nodiscard]] std::optional<QosPreemptMode> preempt_mode(std::string_view word);
[[nodiscard]] const char* admin_level_text(AdminLevel level);  // "None", "Operator", …
[[nodiscard]] std::optional<AdminLevel> admin_level(std::string_view word);

}  // namespace sluice::accounting
