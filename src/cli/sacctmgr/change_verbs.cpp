// sacctmgr add, modify and delete.
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include "cli/sacctmgr/session.hpp"
#include "common/base/text.hpp"

namespace sluice::cli::sacctmgr {

using protocol::AccountingEntity;
using protocol::AccountingVerb;
using protocol::ChangeAccountingReply;
using protocol::ChangeAccountingRequest;

namespace {

constexpr int kSecondsToDecide = 30;

void print_errors(const ChangeAccountingReply& reply) {
  for (const std::string& line : reply.errors) std::fprintf(stderr, "%s\n", line.c_str());
}

bool has_uid(const std::string& name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
  return ::getpwnam(name.c_str()) != nullptr;
}

// Asks for each new user whom no name service knows; those who are not wanted go from the request.
void ask_for_unknown_users(const Session& session, ChangeAccountingRequest& request,
                           const ChangeAccountingReply& preview) {
  std::vector<std::string> users;
  for (const std::string& user : request.where.users) {
    bool is_new = false;
    for (const std::string& name : preview.changed) is_new |= iequals(name, user);
    if (!is_new || has_uid(user)) {
      users.push_back(user);
      continue;
    }
    std::printf("There is no uid for user '%s'\n", user.c_str());
    if (confirmed(session, "Are you sure you want to continue?")) users.push_back(user);
  }
  request.where.users = std::move(users);
}

void change(Session& session, ChangeAccountingRequest request) {
  if (session.readonly) return void(session.fail("Can't run this command in readonly mode."));
  request.commit = session.immediate;
  auto reply = session.ask<ChangeAccountingReply>(request);
  if (!reply) return;
  const bool asks_for_users = !session.immediate && !reply->refused &&
                              request.verb == AccountingVerb::kAdd &&
                              request.entity == AccountingEntity::kUser;
  if (asks_for_users) {
    const std::vector<std::string> before = request.where.users;
    ask_for_unknown_users(session, request, *reply);
    if (request.where.users.empty()) return;
    if (request.where.users != before) reply = session.ask<ChangeAccountingReply>(request);
    if (!reply) return;
  }
  print_errors(*reply);
  std::printf("%s", reply->shown.c_str());
  if (reply->refused) session.exit_code = 1;
  if (reply->refused || session.immediate) return;
  if (!confirmed(session, kCommit)) return;
  // decided anew on what is there now
  request.commit = true;
  reply = session.ask<ChangeAccountingReply>(request);
  if (!reply || !reply->refused) return;
  print_errors(*reply);
  if (reply->errors.empty()) std::printf("%s", reply->shown.c_str());
  session.exit_code = 1;
}

// The names and places of what is added, which are no settings.
bool take_place(AccountingEntity entity, const Option& option,
                protocol::AccountingConditions& where) {
  bool bad = false;
  if (!option.has_value) {
    // bare words are names; none of them is an option without a value
    return take_condition(entity, option, where, bad);
  }
  const bool of_user = entity == AccountingEntity::kUser;
  if (entity == AccountingEntity::kCluster)
    return option.is("Names", 1) && take_condition(entity, option, where, bad);
  if (entity == AccountingEntity::kQos)
    return option.is("Names", 1) && take_condition(entity, option, where, bad);
  if (entity == AccountingEntity::kCoordinator)
    return (option.is("Names", 1) || option.is("Users", 1) || option.is("Accounts", 1) ||
            option.is("Acct", 4)) &&
           take_condition(entity, option, where, bad);
  if (option.is("Clusters", 1) || option.is("Names", 1))
    return take_condition(entity, option, where, bad);
  if ((option.is("Accounts", 2) || option.is("Acct", 4)) &&
      (of_user || entity == AccountingEntity::kAccount))
    return take_condition(entity, option, where, bad);
  return of_user &&
         (option.is("Users", 1) || option.is("Partitions", 3) || option.is("WCKeys", 1)) &&
         take_condition(entity, option, where, bad);
}

constexpr const char* kNoEntityToAdd =
    "No valid entity in add command\n"
    "Input line must include \"Account\", \"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", "
    "\"Resource\", or \"User\"";
constexpr const char* kNoEntityToDelete =
    "No valid entity in delete command\n"
    "Input line must include \"Account\", \"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", "
    "\"Resource\", or \"User\"";
constexpr const char* kNoEntityToModify =
    "No valid entity in modify command\n"
    "Input line must include \"Account\", \"Cluster\", \"Federation\", \"Job\", \"QOS\", "
    "\"Resource\" or \"User\"";

std::optional<AccountingEntity> changeable(Session& session, const Words& words,
                                           const char* otherwise, bool coordinators) {
  const auto entity = words.empty() ? std::nullopt : entity_of(words[0]);
  if (entity) {
    switch (*entity) {
      case AccountingEntity::kAccount:
      case AccountingEntity::kUser:
      case AccountingEntity::kCluster:
      case AccountingEntity::kQos: return entity;
      case AccountingEntity::kCoordinator:
        if (coordinators) return entity;
        break;
      default: break;
    }
  }
  session.fail(otherwise);
  return std::nullopt;
}

}  // namespace

bool unknown_option(Session& session, std::optional<AccountingEntity> entity,
                    const std::string& word, bool adds) {
  session.exit_code = 1;
  const bool of_qos = !entity || *entity == AccountingEntity::kQos;
  const bool complained = std::exchange(session.complained, false);
  if (std::exchange(session.told, false) || complained) return false;
  std::string text = " Unknown option: " + word + "\n";
  if (!adds || entity != AccountingEntity::kUser)
    text += " Use keyword 'where' to modify condition\n";
  std::fputs(text.c_str(), of_qos ? stdout : stderr);
  return false;
}

bool unknown_condition(Session& session, const std::string& word) {
  session.exit_code = 1;
  const bool complained = std::exchange(session.complained, false);
  if (std::exchange(session.told, false) || complained) return false;
  return session.fail(" Unknown condition: " + word + "\n Use keyword 'set' to modify value");
}

bool confirmed(const Session& session, std::string_view question, std::string_view discarded) {
  if (session.immediate) return true;
  std::printf("%.*s (You have %d seconds to decide)\n(N/y): ", static_cast<int>(question.size()),
              question.data(), kSecondsToDecide);
  std::fflush(stdout);
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  int ready = 0;
  do { ready = ::poll(&waiting, 1, kSecondsToDecide * 1000); } while (ready < 0 && errno == EINTR);
  char answer = '\0';
  if (ready <= 0) {
    std::printf("timeout\n");
  } else {
    // a line of its own, read unbuffered: what follows belongs to the next command
    for (char c = '\0'; ::read(STDIN_FILENO, &c, 1) == 1 && c != '\n';)
      if (answer == '\0') answer = c;
    std::printf("\n");
  }
  if (answer == 'y' || answer == 'Y') return true;
  std::printf("%.*s\n", static_cast<int>(discarded.size()), discarded.data());
  return false;
}

void add(Session& session, const Words& words) {
  session.told = session.complained = false;
  const auto entity = changeable(session, words, kNoEntityToAdd, true);
  if (!entity) return;
  ChangeAccountingRequest request;
  request.verb = AccountingVerb::kAdd;
  request.entity = *entity;
  const bool read = walk_words(words, [&](const std::string& word, const Option& option, bool) {
    const bool is_place = option.change == protocol::SetChange::kReplace &&
                          take_place(*entity, option, request.where);
    return is_place || take_setting(session, *entity, option, request.settings) ||
           unknown_option(session, *entity, word, true);
  });
  if (read) change(session, std::move(request));
}

void modify(Session& session, const Words& words) {
  session.told = session.complained = false;
  if (!words.empty() && iequals(words[0], "job")) return modify_jobs(session, words);
  const auto entity = changeable(session, words, kNoEntityToModify, false);
  if (!entity) return;
  ChangeAccountingRequest request;
  request.verb = AccountingVerb::kModify;
  request.entity = *entity;
  bool any = false;
  bool resets = false;
  const auto take = [&](const std::string& word, const Option& option, bool setting) {
    bool bad = false;
    if (!setting)
      return take_condition(*entity, option, request.where, bad) ||
             unknown_condition(session, word);
    if (*entity != AccountingEntity::kCluster && option.is("RawUsage", 3)) {
      resets = true;
      return take_raw_usage(session, option);
    }
    any = true;
    return take_setting(session, *entity, option, request.settings) ||
           unknown_option(session, *entity, word);
  };
  if (!walk_words(words, take)) return;
  if (resets && (!reset_usage(session, *entity, request.where) || !any)) return;
  if (!any) return void(session.fail(" You didn't give me anything to set"));
  if (request.settings == protocol::AccountingSettings{}) {  // a level that there is not
    std::printf(" Nothing modified\n");
    session.exit_code = 1;
    return;
  }
  if (!session.immediate && *entity != AccountingEntity::kCluster &&
      request.where == protocol::AccountingConditions{}) {
    std::printf(" You didn't set any conditions with 'WHERE'.\n");
    if (!confirmed(session, "Are you sure you want to continue?", "Aborted")) return;
  }
  change(session, std::move(request));
}

void remove(Session& session, const Words& words) {
  const auto entity = changeable(session, words, kNoEntityToDelete, true);
  if (!entity) return;
  ChangeAccountingRequest request;
  request.verb = AccountingVerb::kDelete;
  request.entity = *entity;
  const auto take = [&](const std::string& word, const Option& option, bool setting) {
    bool bad = false;
    return (!setting && take_condition(*entity, option, request.where, bad)) ||
           unknown_condition(session, word);
  };
  if (!walk_words(words, take)) return;
  if (request.where == protocol::AccountingConditions{})
    return void(session.fail(*entity == AccountingEntity::kCoordinator
                                 ? " You need to specify a user list or account list here."
                                 : " No conditions given to remove, not executing."));
  change(session, std::move(request));
}

}  // namespace sluice::cli::sacctmgr
