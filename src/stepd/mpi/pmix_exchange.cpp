#include "stepd/mpi/pmix_exchange.hpp"

#include <atomic>
#include <string_view>

#include "common/base/text.hpp"
#include "common/wire/codec.hpp"
#include "stepd/mpi/pmi_node.hpp"
#include "stepd/mpi/pmix_info.hpp"
#include "stepd/mpi/pmix_server.hpp"

namespace sluice::stepd {
namespace {

using protocol::PublishedName;

// how keys of the library's own begin: wishes, not data
constexpr std::string_view kReserved = "pmix.";
constexpr const char* kContext = "context";
constexpr const char* kEndpoints = "endpoints";

bool is_true(const pmix_info_t& info) {
  return info.value.type == PMIX_UNDEF || info.value.data.flag;
}

std::vector<std::string> list_of(char** keys) {
  std::vector<std::string> out;
  for (char** key = keys; key != nullptr && *key != nullptr; ++key) out.emplace_back(*key);
  return out;
}

// NOLINTBEGIN(readability-function-size): parameters as libpmix has them
pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t count,
                         pmix_op_cbfunc_t done, void* context) {
  const PmixServer* server = PmixServer::current();
  if (server == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  std::vector<PublishedName> names;
  for (size_t i = 0; i < count; ++i) {
    if (std::string_view(info[i].key).starts_with(kReserved)) continue;
    PublishedName name{info[i].key, pack_published(server->library(), proc->rank, info[i].value)};
    if (name.value.empty()) return PMIX_ERR_PACK_FAILURE;
    names.push_back(std::move(name));
  }
  PmixServer::hand_over([names = std::move(names), done, context](PmixServer& here) {
    here.names().publish(names, done, context);
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_lookup(const pmix_proc_t*, char** keys, const pmix_info_t info[], size_t count,
                        pmix_lookup_cbfunc_t done, void* context) {
  PmixNames::Wish wish;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = info[i].key;
    if (key == PMIX_WAIT) wish.wait = true;
    if (key == PMIX_TIMEOUT)
      wish.timeout_s = static_cast<uint32_t>(std::max(0, info[i].value.data.integer));
  }
  PmixServer::hand_over([names = list_of(keys), wish, done, context](PmixServer& here) {
    here.names().look_up(here.library(), names, wish, done, context);
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_unpublish(const pmix_proc_t*, char** keys, const pmix_info_t[], size_t,
                           pmix_op_cbfunc_t done, void* context) {
  // all of one's own: srun does not know whose they are
  if (keys == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  PmixServer::hand_over([names = list_of(keys), done, context](PmixServer& here) {
    here.names().unpublish(names, done, context);
  });
  return PMIX_SUCCESS;
}

// What the nodes of a group put together: a number for it, and how its members are reached.
void tell_of_group(const std::string& data, pmix_info_cbfunc_t done, void* context) {
  auto info = std::make_unique<PmixInfo>();
  const auto all = wire::decode<PmiPairs>(data);
  std::string endpoints;
  bool numbered = false;
  for (const PmiPair& pair : all ? all->pairs : std::vector<PmiPair>()) {
    if (pair.key == kEndpoints) endpoints += pair.value;
    if (pair.key != kContext || std::exchange(numbered, true)) continue;  // the first node's
    info->size(PMIX_GROUP_CONTEXT_ID, to_number<size_t>(pair.value).value_or(0));
  }
  if (!endpoints.empty()) info->given_bytes(PMIX_GROUP_ENDPT_DATA, endpoints);
  pmix_info_t* infos = info->size() == 0 ? nullptr : info->data();
  const size_t count = info->size();
  done(
      PMIX_SUCCESS, infos, count, context, [](void* old) { delete static_cast<PmixInfo*>(old); },
      info.release());
}

pmix_status_t on_group(pmix_group_operation_t operation, char name[], const pmix_proc_t procs[],
                       size_t count, const pmix_info_t directives[], size_t num_directives,
                       pmix_info_cbfunc_t done, void* context) {
  static std::atomic<size_t> groups = 0;
  const PmixServer* server = PmixServer::current();
  std::vector<pmix_rank_t> ranks;
  if (server == nullptr || !pmix_ranks(procs, count, ranks)) return PMIX_ERR_NOT_SUPPORTED;
  PmiPairs mine;
  for (size_t i = 0; i < num_directives; ++i) {
    const std::string_view key = directives[i].key;
    if (key == PMIX_GROUP_ASSIGN_CONTEXT_ID && is_true(directives[i])) {
      // of all nodes' numbers no two are the same
      mine.pairs.push_back(
          {kContext, std::to_string(++groups * server->num_nodes() + server->node_index())});
    } else if (key == PMIX_GROUP_ENDPT_DATA) {
      const pmix_byte_object_t& bytes = directives[i].value.data.bo;
      mine.pairs.push_back({kEndpoints, std::string(bytes.bytes, bytes.size)});
    }
  }
  const std::string purpose =
      (operation == PMIX_GROUP_CONSTRUCT ? "group+" : "group-") + std::string(name) + ":";
  PmixServer::hand_over([purpose, ranks = std::move(ranks), data = wire::encode(mine), done,
                         context](PmixServer& here) mutable {
    here.fence(
        std::move(ranks), std::move(data),
        [done, context](pmix_status_t status, const std::string& all) {
          if (status == PMIX_SUCCESS) tell_of_group(all, done, context);
          else done(status, nullptr, 0, context, nullptr, nullptr);
        },
        purpose);
  });
  return PMIX_SUCCESS;
}
// NOLINTEND(readability-function-size)

}  // namespace

bool pmix_ranks(const pmix_proc_t procs[], size_t count, std::vector<pmix_rank_t>& out) {
  const PmixServer* server = PmixServer::current();
  for (size_t i = 0; i < count; ++i) {
    if (server == nullptr || server->name() != procs[i].nspace) return false;
    if (procs[i].rank == PMIX_RANK_WILDCARD) {
      out.clear();
      return true;
    }
    out.push_back(procs[i].rank);
  }
  return true;
}

void add_pmix_exchange(pmix_server_module_t& module) {
  module.publish = on_publish;
  module.lookup = on_lookup;
  module.unpublish = on_unpublish;
  module.group = on_group;
}

}  // namespace sluice::stepd
