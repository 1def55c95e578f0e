#include "common/rpc/fanout.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace sluice::net {

std::vector<std::span<const FanoutTarget>> split_tree(std::span<const FanoutTarget> targets,
                                                      uint32_t width) {
  std::vector<std::span<const FanoutTarget>> parts;
  const size_t count = std::min<size_t>(std::max(width, 1u), targets.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t left = count - i;
    const size_t size = (targets.size() + left - 1) / left;
    parts.push_back(targets.first(size));
    targets = targets.subspan(size);
  }
  return parts;
}

uint32_t tree_depth(size_t count, uint32_t width) {
  width = std::max(width, 1u);
  uint32_t depth = 0;
  while (count > 0) {
    ++depth;
    const size_t largest_part = (count + width - 1) / width;
    count = largest_part - 1;  // its head is one of it
  }
  return depth;
}

Duration tree_timeout(Duration node_timeout, uint32_t levels) {
  constexpr Duration kMost = std::chrono::hours(1);
  return std::min(std::min(node_timeout, kMost) * levels, kMost);
}

NodeClients::NodeClients(ClientOptions common, size_t most_connections)
    : common_(std::move(common)), most_connections_(most_connections) {}

std::shared_ptr<AsyncClient> NodeClients::get(const FanoutTarget& node) {
  std::shared_ptr<AsyncClient> dropped;  // freed outside the mutex
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[node.address + ' ' + node.node];
  entry.used = ++clock_;
  if (!entry.client) {
    ClientOptions options = common_;
    options.addresses = {node.address};
    options.receiver = node.node;
    entry.client = std::make_shared<AsyncClient>(std::move(options));
  }
  std::shared_ptr<AsyncClient> client = entry.client;
  if (entries_.size() > most_connections_) {
    const auto oldest =
        std::ranges::min_element(entries_, {}, [](const auto& item) { return item.second.used; });
    dropped = std::move(oldest->second.client);
    entries_.erase(oldest);
  }
  return client;
}

// One fan-out at one place of the tree: collects results until there is one for every target.
struct Fanout::Gather {
  FanoutRequest order;  // without targets
  size_t wanted = 0;
  Done done;
  std::mutex mutex;
  FanoutReply reply;

  void add(std::vector<FanoutResult> results) {
    Done ready;
    FanoutReply whole;
    {
      const std::lock_guard lock(mutex);
      std::ranges::move(results, std::back_inserter(reply.results));
      if (reply.results.size() < wanted || !done) return;
      ready = std::move(done);
      done = nullptr;
      whole = std::move(reply);
    }
    ready(std::move(whole));
  }
  void add_one(const std::string& node, Result<std::string> result) {
    FanoutResult one{.node = node};
    if (result) {
      one.reply = std::move(*result);
    } else {
      one.code = result.error().code;
      one.text = std::move(result.error().text);
    }
    std::vector<FanoutResult> results;
    results.push_back(std::move(one));
    add(std::move(results));
  }
};

namespace {

// A child answers for its whole part, whatever it sent.
std::vector<FanoutResult> results_of(const std::vector<FanoutTarget>& part, FanoutReply reply) {
  std::unordered_map<std::string_view, FanoutResult*> by_node;
  for (FanoutResult& result : reply.results) by_node.emplace(result.node, &result);
  std::vector<FanoutResult> results;
  results.reserve(part.size());
  for (const FanoutTarget& target : part) {
    const auto found = by_node.find(target.node);
    if (found == by_node.end()) {
      results.push_back({.node = target.node,
                         .code = ErrorCode::kError,
                         .text = "the node above it in the tree gave no result for it"});
    } else {
      FanoutResult& result = *found->second;
      results.push_back(
          {target.node, result.code, std::move(result.text), std::move(result.reply)});
    }
  }
  return results;
}

}  // namespace

std::shared_ptr<Fanout> Fanout::create(std::shared_ptr<NodeClients> clients) {
  return create([clients = std::move(clients)](const FanoutTarget& node,
                                               const FanoutRequest& request, Duration timeout,
                                               std::function<void(Result<FanoutReply>)> done) {
    const auto client = clients->get(node);
    client->call<FanoutReply>(request, timeout, std::move(done));
  });
}

std::shared_ptr<Fanout> Fanout::create(Send send) {
  return std::shared_ptr<Fanout>(new Fanout(std::move(send)));
}

void Fanout::send(FanoutRequest request, Done done) {
  std::vector<FanoutTarget> targets = std::move(request.targets);
  if (targets.empty()) return done({});
  auto gather = std::make_shared<Gather>();
  request.targets.clear();
  gather->order = std::move(request);
  gather->wanted = targets.size();
  gather->done = std::move(done);
  spread(gather, std::move(targets));
}

void Fanout::spread(const std::shared_ptr<Gather>& gather, std::vector<FanoutTarget> targets) {
  for (const auto part : split_tree(targets, gather->order.tree_width)) {
    send_part(gather, {part.begin(), part.end()});
  }
}

void Fanout::send_part(const std::shared_ptr<Gather>& gather, std::vector<FanoutTarget> part) {
  FanoutRequest request = gather->order;
  const uint32_t levels = 1 + tree_depth(part.size() - 1, request.tree_width);
  const FanoutTarget head = part.front();
  const Duration timeout = tree_timeout(request.node_timeout, levels);
  request.targets = part;
  send_(head, request, timeout,
        [self = shared_from_this(), gather, part = std::move(part)](Result<FanoutReply> reply) {
          if (reply) return gather->add(results_of(part, std::move(*reply)));
          gather->add_one(part.front().node, tl::unexpected<Error>(std::move(reply.error())));
          self->spread(gather, {part.begin() + 1, part.end()});
        });
}

void Fanout::serve(RpcServer& server) {
  server.handle<FanoutRequest, FanoutReply>(
      [self = shared_from_this(), &server](const CallContext& context, FanoutRequest request,
                                           Responder<FanoutReply> responder) {
        if (!context.is_super_user() && context.identity.authenticated) {
          return responder.fail(
              ErrorCode::kAccessDenied,
              fmt::format("the agent expects SlurmUser uid {} and was asked by uid {}: where "
                          "SlurmUser has changed, restart slurmd there",
                          context.slurm_user, context.identity.uid));
        }
        if (request.targets.empty()) return responder.reply({});
        if (request.method == method_name<FanoutRequest>()) {
          return responder.fail(ErrorCode::kBadRequest, "a fan-out within a fan-out");
        }
        auto shared = std::make_shared<Responder<FanoutReply>>(std::move(responder));
        auto gather = std::make_shared<Gather>();
        gather->wanted = request.targets.size();
        gather->done = [shared](const FanoutReply& reply) { shared->reply(reply); };
        std::vector<FanoutTarget> rest(std::make_move_iterator(request.targets.begin() + 1),
                                       std::make_move_iterator(request.targets.end()));
        const std::string own_node = std::move(request.targets.front().node);
        request.targets.clear();
        gather->order = std::move(request);
        self->spread(gather, std::move(rest));  // the others first: they take longer

        struct OwnResult final : ReplySink {
          std::shared_ptr<Gather> gather;
          std::string node;
          void complete(Result<std::string> reply) override {
            gather->add_one(node, std::move(reply));
          }
        };
        auto own = std::make_shared<OwnResult>();
        own->gather = gather;
        own->node = own_node;
        server.dispatch(context, gather->order.method, gather->order.payload,
                        RawResponder(std::move(own)));
      },
      kLong);
}

}  // namespace sluice::net
