// scontrol create and delete of nodes, and power.
#include <algorithm>

#include "cli/scontrol/session.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/empty.hpp"

namespace sluice::cli::scontrol {

bool names_nodes(const Words& words) {
  return std::any_of(words.begin() + 1, words.end(), [](const std::string& word) {
    const std::string key = word.substr(0, word.find('='));
    return key.size() >= 3 && starts_with_i("NodeName", key);
  });
}

// As a NodeName line of slurm.conf: NodeName= comes first, keys are not shortened.
void create_nodes(Session& session, const Words& words) {
  const auto refused = [&](ErrorCode code) {
    session.fail("Error creating the node(s): " + std::string(error_sentence(code)));
  };
  const auto unreadable = [&](const std::string& why) {
    const std::string line = join(Words(words.begin() + 1, words.end()), " ");
    session.fail("scontrol: error: Failed to parse nodeline '" + line + "': " + why);
    refused(ErrorCode::kError);
  };
  protocol::CreateNodesRequest request;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    if (i == 1 && (equals == std::string::npos || !iequals(key, "NodeName")))
      return unreadable("NodeName= does not come first");
    if (equals == std::string::npos) return unreadable("\"" + words[i] + "\" has no value");
    request.values[key] = words[i].substr(equals + 1);
  }
  if (session.client() == nullptr) return;
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (reply) return;
  const Error& error = reply.error();
  if (error.code == ErrorCode::kInvalidConfig) return unreadable(error.text);
  if (!error.text.empty()) session.fail("scontrol: error: " + error.text);
  refused(error.code);
}

void delete_nodes(Session& session, const std::string& typed, const std::string& names) {
  if (session.client() == nullptr) return;
  const auto reply =
      session.client()->call<protocol::CountReply>(protocol::DeleteNodesRequest{names});
  if (!reply)
    return session.fail("delete_node " + typed + ": " +
                        std::string(error_sentence(reply.error().code)));
  if (reply->errors.empty()) return;
  for (size_t i = 0; i + 1 < reply->errors.size(); ++i)
    session.fail("scontrol: error: " + reply->errors[i]);
  session.fail("delete_node " + typed + ": " + reply->errors.back());
}

// power {up|down} [asap|force] NODES [Reason=TEXT]
void change_power(Session& session, const Words& words) {
  const bool up = iequals(words[1], "up");
  if (!up && !iequals(words[1], "down"))
    return session.fail("scontrol: error: power: \"" + words[1] + "\" is neither up nor down");
  protocol::UpdateNodeRequest request;
  std::string how;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equals = word.find('=');
    if (equals != std::string::npos && iequals(word.substr(0, equals), "Reason"))
      request.update.reason = word.substr(equals + 1);
    else if (equals != std::string::npos)
      return session.fail("scontrol: error: power: " + word.substr(0, equals) + " is not known");
    else if (how.empty() && (iequals(word, "asap") || iequals(word, "force"))) how = word;
    else if (request.update.nodes.empty()) request.update.nodes = word;
    else return session.fail("scontrol: error: power: " + word + ": nodes are named already");
  }
  if (request.update.nodes.empty())
    return session.fail("scontrol: error: power: no nodes are named");
  if (up && !how.empty())
    return session.fail("scontrol: error: power: " + how + " goes with down alone");
  request.update.state = up ? "POWER_UP" : "POWER_DOWN" + (how.empty() ? "" : "_" + how);
  if (session.client() == nullptr) return;
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (!reply) session.fail("scontrol_power_nodes error: " + error_text(reply.error()));
}

}  // namespace sluice::cli::scontrol
