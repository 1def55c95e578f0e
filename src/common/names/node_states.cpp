// The tables of node states, and the rules that pick sinfo's one word and suffix.
#include <algorithm>
#include <array>
#include <iterator>

#include "common/base/text.hpp"
#include "common/names/job_states.hpp"
#include "common/names/node_events.hpp"
#include "common/names/state_tables.hpp"

namespace sluice {
namespace {

// In the order of NodeBaseState.
constexpr StateRow kBaseStates[] = {
    {"UNKNOWN", "unk"}, {"DOWN", "down"}, {"IDLE", "idle"},   {"ALLOCATED", "alloc"},
    {"ERROR", "err"},   {"MIXED", "mix"}, {"FUTURE", "futr"},
};
static_assert(std::size(kBaseStates) == static_cast<size_t>(NodeBaseState::kFuture) + 1);

// In the order of scontrol's State=.
constexpr FlagRow kFlags[] = {
    {kNodeBlocked, "BLOCKED", "block"},
    {kNodeCloud, "CLOUD", "cloud"},
    {kNodeCompleting, "COMPLETING", "comp"},
    {kNodeDrain, "DRAIN", "drain"},
    {kNodeDynamicFuture, "DYNAMIC_FUTURE", ""},
    {kNodeDynamicNorm, "DYNAMIC_NORM", ""},
    {kNodeExternal, "EXTERNAL", "ext"},
    {kNodeInvalidReg, "INVALID_REG", "inval"},
    {kNodeFailing, "FAIL", "fail"},
    {kNodeMaint, "MAINTENANCE", "maint"},
    {kNodePowerDown, "POWER_DOWN", "pow_dn"},
    {kNodePowerUp, "POWER_UP", "pow_up"},
    {kNodePowerDrain, "POWER_DRAIN", ""},
    {kNodeRebootRequested, "REBOOT_REQUESTED", ""},
    {kNodeRebootIssued, "REBOOT_ISSUED", "reboot^"},
    {kNodeReserved, "RESERVED", "resv"},
    {kNodePoweredDown, "POWERED_DOWN", "powered_dn"},
    {kNodeNoRespond, "NOT_RESPONDING", "no_respond"},
    {kNodePoweringDown, "POWERING_DOWN", "powring_dn"},
    {kNodePoweringUp, "POWERING_UP", "powering_up"},
    {kNodePlanned, "PLANNED", "plnd"},
};

constexpr NodeFlags kRebooting = kNodeRebootRequested | kNodeRebootIssued;

// Only one suffix is shown, the first whose flag is set and not told by the word itself.
struct SuffixRow {
  NodeFlags flags;
  char suffix;
};
constexpr SuffixRow kSuffixes[] = {
    {kNodeMaint, '$'},      {kNodeRebootIssued, '^'}, {kNodeRebootRequested, '@'},
    {kNodePoweringUp, '#'}, {kNodePoweringDown, '%'}, {kNodePoweredDown, '~'},
    {kNodePowerDown, '!'},  {kNodeNoRespond, '*'},    {kNodePlanned, '-'},
};

bool in_use(NodeBaseState base, NodeFlags flags) {
  return base == NodeBaseState::kAllocated || base == NodeBaseState::kMixed ||
         (flags & kNodeCompleting) != 0;
}

struct Shown {
  StateRow word;
  NodeFlags told = 0;
};

// What one word says of base and flags.
Shown shown_word(NodeBaseState base, NodeFlags flags) {
  const auto has = [&](NodeFlags some) { return (flags & some) != 0; };
  const bool busy = in_use(base, flags);
  const bool down = base == NodeBaseState::kDown;
  if (has(kNodeInvalidReg)) return {{"INVAL", "inval"}};  // such a node is drained as well
  if (has(kNodeMaint) && !has(kNodeDrain) && !busy && !down) {
    return {{"MAINT", "maint"}, kNodeMaint};
  }
  const bool away = down && has(kNodeRebootIssued);
  if (has(kRebooting) && !busy && (!down || away))
    return {{"REBOOT", "boot"}, kNodeRebootRequested};
  if (has(kNodeDrain)) return busy ? Shown{{"DRAINING", "drng"}} : Shown{{"DRAINED", "drain"}};
  if (has(kNodeFailing)) {
    const bool full = base == NodeBaseState::kAllocated || has(kNodeCompleting);
    return full ? Shown{{"FAILING", "failg"}} : Shown{{"FAIL", "fail"}};
  }
  if (base == NodeBaseState::kIdle) {
    if (has(kNodeCompleting)) return {{"COMPLETING", "comp"}, kNodePlanned};
    if (has(kNodeBlocked)) return {{"BLOCKED", "block"}};
    if (has(kNodePlanned)) return {{"PLANNED", "plnd"}, kNodePlanned};
    if (has(kNodeReserved)) return {{"RESERVED", "resv"}};
  }
  return {row_of(kBaseStates, base)};
}

std::string with_suffix(std::string_view word, NodeBaseState base, NodeFlags flags,
                        NodeFlags told) {
  std::string out(word);
  const auto* const row =
      std::find_if(std::begin(kSuffixes), std::end(kSuffixes),
                   [&](const SuffixRow& one) { return (flags & ~told & one.flags) != 0; });
  const bool planned_is_shown = base == NodeBaseState::kMixed || base == NodeBaseState::kAllocated;
  if (row != std::end(kSuffixes) && (row->suffix != '-' || planned_is_shown)) {
    out += row->suffix;
  } else if (word == "ALLOCATED" || word == "alloc") {
    if ((flags & kNodeCompleting) != 0) out += '+';
  }
  return out;
}

struct ActionRow {
  std::string_view name;
  NodeAction action;
};
constexpr ActionRow kActions[] = {
    {"ALLOCATED", NodeAction::kNotByHand},
    {"CANCEL_REBOOT", NodeAction::kCancelReboot},
    {"DOWN", NodeAction::kDown},
    {"DRAIN", NodeAction::kDrain},
    {"FAIL", NodeAction::kFail},
    {"FUTURE", NodeAction::kFuture},
    {"IDLE", NodeAction::kIdle},
    {"MIXED", NodeAction::kNotByHand},
    {"NoResp", NodeAction::kNoRespond},
    {"NO_RESPOND", NodeAction::kNoRespond},
    {"POWER_DOWN", NodeAction::kPowerDown},
    {"POWER_DOWN_ASAP", NodeAction::kPowerDownAsap},
    {"POWER_DOWN_FORCE", NodeAction::kPowerDownForce},
    {"POWER_UP", NodeAction::kPowerUp},
    {"RESUME", NodeAction::kResume},
    {"UNDRAIN", NodeAction::kUndrain},
    {"UNKNOWN", NodeAction::kNotByHand},
};

}  // namespace

std::string node_state_long(NodeBaseState base, NodeFlags flags) {
  const Shown shown = shown_word(base, flags);
  return with_suffix(shown.word.name, base, flags, shown.told);
}

std::string node_state_short(NodeBaseState base, NodeFlags flags) {
  const Shown shown = shown_word(base, flags);
  return with_suffix(shown.word.code, base, flags, shown.told);
}

std::string node_event_state(std::string_view complete) {
  NodeFlags flags = 0;
  std::optional<NodeBaseState> base;
  for (const std::string& word : split(complete, '+')) {
    if (!base) {
      base = find_state<NodeBaseState>(kBaseStates, word);
      if (!base) return std::string(complete);
      continue;
    }
    for (const FlagRow& row : kFlags)
      if (row.name == word) flags |= row.flag;
  }
  return base ? to_upper(node_state_short(*base, flags)) : std::string();
}

std::string node_state_complete(NodeBaseState base, NodeFlags flags) {
  std::string out(node_base_text(base));
  for (const std::string_view name : node_flag_list(flags)) out.append("+").append(name);
  return out;
}

std::vector<std::string_view> node_flag_list(NodeFlags flags) {
  std::vector<std::string_view> out;
  append_flags(kFlags, flags, out);
  return out;
}

std::string_view node_base_text(NodeBaseState base) { return row_of(kBaseStates, base).name; }

bool NodeStateName::matches(NodeBaseState shown, NodeFlags shown_flags) const {
  const bool drain = (shown_flags & kNodeDrain) != 0;
  if ((shown_flags & flags) != flags) return false;
  if (drained) return drain && !in_use(shown, shown_flags);
  if (draining) return drain && in_use(shown, shown_flags);
  if (failing) return (shown_flags & kNodeFailing) != 0 && in_use(shown, shown_flags);
  if (rebooting) return (shown_flags & kRebooting) != 0;
  // the base state counts whatever flags there are: "idle" finds drained nodes too
  return !base || *base == shown;
}

namespace {

// "idle~", "alloc+": a state as sinfo shows it, with the mark of a flag. 0: it has none.
NodeFlags flag_of_mark(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text.back() == '+') return kNodeCompleting;
  const auto* const row = std::ranges::find(kSuffixes, text.back(), &SuffixRow::suffix);
  return row != std::end(kSuffixes) && text != "reboot^" ? row->flags : 0;
}

}  // namespace

std::optional<NodeStateName> parse_node_state(std::string_view text) {
  if (const NodeFlags flag = flag_of_mark(text); flag != 0) {
    auto marked = parse_node_state(text.substr(0, text.size() - 1));
    if (marked) marked->flags |= flag;
    return marked;
  }
  if (const size_t plus = text.find('+');
      plus != std::string_view::npos) {  // "idle+cloud", as scontrol shows it
    auto left = parse_node_state(text.substr(0, plus));
    const auto right = parse_node_state(text.substr(plus + 1));
    if (!left || !right || right->base) return std::nullopt;
    left->flags |= right->flags;
    left->drained |= right->drained;
    left->draining |= right->draining;
    left->failing |= right->failing;
    left->rebooting |= right->rebooting;
    return left;
  }
  NodeStateName made;
  made.base = find_state<NodeBaseState>(kBaseStates, text);
  if (made.base) return made;
  if (iequals(text, "drained")) made.drained = true;
  else if (iequals(text, "draining") || iequals(text, "drng")) made.draining = true;
  else if (iequals(text, "failing") || iequals(text, "failg")) made.failing = true;
  else if (iequals(text, "reboot") || iequals(text, "boot")) made.rebooting = true;
  else if (iequals(text, "planned")) made.flags = kNodePlanned;
  else if (iequals(text, "inval")) made.flags = kNodeInvalidReg;
  if (made.flags != 0 || made.drained || made.draining || made.failing || made.rebooting) {
    return made;
  }
  const FlagRow* flag = find_flag(kFlags, text);
  if (flag == nullptr) return std::nullopt;
  made.flags = flag->flag;
  return made;
}

std::string node_state_names() {
  return "ALLOC,ALLOCATED,CLOUD,COMP,COMPLETING,DOWN,DRAIN,DRAINED,DRAINING,FAIL,FUTURE,FUTR,"
         "IDLE,MAINT,MIX,MIXED,NO_RESPOND,PLANNED,POWER_DOWN,POWERING_DOWN,POWERED_DOWN,POWERING_UP,"
         "REBOOT_ISSUED,REBOOT_REQUESTED,RESV,RESERVED,UNK,UNKNOWN";
}

std::optional<NodeAction> parse_node_action(std::string_view text) {
  constexpr size_t kLeast = 3;
  if (text.size() < kLeast) return std::nullopt;
  std::array<std::string_view, std::size(kActions)> names;
  std::transform(std::begin(kActions), std::end(kActions), names.begin(),
                 [](const ActionRow& row) { return row.name; });
  const auto found = match_prefix(text, names);
  if (!found) return std::nullopt;
  return kActions[*found].action;
}

}  // namespace sluice
