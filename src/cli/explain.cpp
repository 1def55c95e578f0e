// sluice explain JOB: why a job waits, in words, and what change would let it start.
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/shown_text.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/query.hpp"

namespace sluice::cli {

int explain_main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fputs("Usage: sluice explain JOB\n", argc == 2 && argv[1][1] == '-' ? stdout : stderr);
    return argc == 2 && argv[1][1] == '-' ? 0 : 1;
  }
  Result<Client> client = Client::open();
  if (!client) return report("sluice", client.error());
  client->keep_asking();
  protocol::ExplainRequest request;
  request.job = argv[1];
  const auto reply = client->call<protocol::ExplainReply>(request);
  if (!reply) return report("sluice", reply.error());
  for (const std::string& line : reply->lines) std::puts(shown_text(line, {}).c_str());
  return 0;
}

}  // namespace sluice::cli
