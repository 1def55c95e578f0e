// Which conditions tell entities of accounting apart.
#pragma once

#include <string>

#include "common/protocol/accounting_admin.hpp"

namespace sluice::accounting {

// The name of a condition that is given and that nothing of this kind is looked at for: more than
// was meant would be shown, changed or deleted. Empty: there is none.
[[nodiscard]] std::string ignored_condition(protocol::AccountingEntity entity,
                                            const protocol::AccountingConditions& where);

}  // namespace sluice::accounting
