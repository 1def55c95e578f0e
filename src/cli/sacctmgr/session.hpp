// One run of sacctmgr: its options, its connection, and what it knows of the database's names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/format/structured_output.hpp"
#include "cli/shared/accounting_client.hpp"
#include "common/base/text.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::cli::sacctmgr {

enum class Parsable { kNo, kEnding, kNotEnding };  // -p, -P

// What changes many records waits for the disk, and others for it.
inline constexpr Duration kPatience = std::chrono::seconds(120);

struct Session {
  bool immediate = false, header = true, readonly = false, quiet = false, associations = false;
  bool verbose = false, oneliner = false;
  Parsable parsable = Parsable::kNo;
  StructuredChoice form;
  std::vector<std::string> command_line;
  int exit_code = 0;
  bool quit = false;
  bool told = false;        // what is wrong with a word was said in full
  bool complained = false;  // of a word's value
  std::optional<Client> client;
  std::optional<protocol::QueryAccountingReply> names;  // TRES and QOS, asked for once

  // The client, or the reason on stderr and null.
  [[nodiscard]] Client* open();
  // TRES and QOS of the database; null where it cannot be asked (then it was told).
  [[nodiscard]] const protocol::QueryAccountingReply* known();
  template <class Reply, class Request>
  [[nodiscard]] std::optional<Reply> ask(const Request& request) {
    Client* at = open();
    if (at == nullptr) return std::nullopt;
    Result<Reply> reply = at->call<Reply>(request, kPatience);
    if (reply) return denial.clear(), std::move(*reply);
    tell(reply.error());
    return std::nullopt;
  }
  // on stderr; sets the exit code. `denial`: what is said of the next request, where it is denied
  void tell(const Error& error);
  std::string denial;
  bool fail(std::string_view line);   // on stderr with a newline; gives false
  bool error(std::string_view text);  // the same, as an error of sacctmgr
  // The same of a word whose value is wrong.
  bool complain(std::string_view text) { return complained = true, error(text); }
};

using Words = std::vector<std::string>;

// "key+=value": the parts of a word.
struct Option {
  std::string key;  // as it was written; empty: a bare value
  std::string value;
  protocol::SetChange change = protocol::SetChange::kReplace;
  bool has_value = false;
  // `name` begins with the key, which has `least` letters at least; without case
  [[nodiscard]] bool is(std::string_view name, size_t least) const;
  [[nodiscard]] std::vector<std::string> list() const;  // the value's, without quotes
};
[[nodiscard]] Option split_option(const std::string& word);

// The words behind the entity, which `set` and `where` part: take(word, option, setting) gives
// false to end it. False: it did.
template <class Take>
bool walk_words(const Words& words, Take&& take) {
  bool setting = false;  // conditions come first
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool sets = iequals(word, "set");
    if (sets || iequals(word, "where")) setting = sets;
    else if (!word.empty() && !take(word, split_option(word), setting)) return false;
  }
  return true;
}

// The entity that a word names, among those that `verb` has; nothing: none.
[[nodiscard]] std::optional<protocol::AccountingEntity> entity_of(std::string_view word);

// "Add Users": what an entry among transactions may say that it did.
[[nodiscard]] bool is_action(std::string_view word);

// One word of a condition. False where it is none.
[[nodiscard]] bool take_condition(protocol::AccountingEntity entity, const Option& option,
                                  protocol::AccountingConditions& where, bool& bad_value);
// One word of a setting. False where it is none, or what it says is wrong (then that was told).
[[nodiscard]] bool take_setting(Session& session, protocol::AccountingEntity entity,
                                const Option& option, protocol::AccountingSettings& settings);

// What stands behind `set` or `where` and is neither; give false.
// Options of a QOS or a job (no entity) are told of on stdout, as in Slurm.
bool unknown_option(Session& session, std::optional<protocol::AccountingEntity> entity,
                    const std::string& word, bool adds = false);
bool unknown_condition(Session& session, const std::string& word);

// The question before a change; true where it need not be asked. Who says no is told `discarded`.
[[nodiscard]] bool confirmed(const Session& session, std::string_view question,
                             std::string_view discarded = " Changes Discarded");

inline constexpr std::string_view kCommit = "Would you like to commit changes?";

void add(Session& session, const Words& words);
void modify(Session& session, const Words& words);
void modify_jobs(Session& session, const Words& words);
// RawUsage=0. False where it is anything else (then that was told).
[[nodiscard]] bool take_raw_usage(Session& session, const Option& option);
// The controller forgets what the entities used so far, as soon as that is confirmed. False: it did
// not (then it was told why).
[[nodiscard]] bool reset_usage(Session& session, protocol::AccountingEntity entity,
                               const protocol::AccountingConditions& where);
void remove(Session& session, const Words& words);
void list(Session& session, const Words& words);
void archive(Session& session, const Words& words);
void dump(Session& session, const Words& words);
void load(Session& session, const Words& words);
// Entities that are no records of accounting: configuration, stats, events. False: none of them.
[[nodiscard]] bool list_other(Session& session, const Words& words);
void list_runaway_jobs(Session& session, const Words& words);
void other(Session& session, std::string_view verb, const Words& words);

}  // namespace sluice::cli::sacctmgr
