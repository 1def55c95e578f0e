// What a call costs. Programs of their own, since start-up is part of it:
//   rpc_bench serve [KEY]               a server of Echo; prints its port and waits
//   rpc_bench hello PORT [KEY]          one call; prints CPU and elapsed time of the whole process
//   rpc_bench load PORT CONNECTIONS SECONDS [KEY]   calls as fast as they go, 8 at once on each
// KEY is a file of 32 bytes or more: with it every call carries and checks a token of auth/slurm.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "common/auth/auth_slurm.hpp"
#include "common/net/rpc_client.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/rpc_server.hpp"

namespace sluice::net {
namespace {

constexpr int kCallsAtOnce = 8;

struct EchoRequest {
  static constexpr std::string_view kMethod = "Test/Echo";
  using Reply = EchoRequest;
  std::string text;
  template <class V>
  static void describe(V&& field) {
    field(1, "text", &EchoRequest::text);
  }
};

double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

std::shared_ptr<AuthProvider> auth_of(const char* key_file) {
  if (key_file == nullptr) return nullptr;
  const Result<ClusterKey> key = ClusterKey::load(key_file);
  if (!key) {
    std::fprintf(stderr, "%s\n", key.error().text.c_str());
    std::exit(1);
  }
  return make_key_auth(*key, "bench");
}

int serve(const char* key_file) {
  RpcServer server({.addresses = {"127.0.0.1:0"}, .auth = auth_of(key_file), .knows_nobody = true});
  server.handle<EchoRequest, EchoRequest>(
      [](const CallContext&, EchoRequest request, Responder<EchoRequest> responder) {
        responder.reply(request);
      });
  if (!server.start()) return 1;
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  double last = cpu_ms();
  while (getppid() != 1) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const double total = cpu_ms();
    if (total - last > 100)
      std::fprintf(stderr, "server: %.0f ms CPU in this second\n", total - last);
    last = total;
  }
  return 0;
}

int hello(const std::string& port, const char* key_file) {
  const auto start = std::chrono::steady_clock::now();
  const double before = cpu_ms();
  RpcClient client({.addresses = {"127.0.0.1:" + port}, .auth = auth_of(key_file)});
  const auto reply = client.call<EchoRequest>(EchoRequest{"hello"}, std::chrono::seconds(5));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!reply) std::fprintf(stderr, "%s\n", reply.error().text.c_str());
  std::printf("%.2f ms CPU before main, %.2f ms in all, %.2f ms elapsed\n", before, cpu_ms(),
              elapsed.count());
  return reply ? 0 : 1;
}

// Calls follow one another: each reply sets off the next.
struct Chain {
  AsyncClient* client;
  std::atomic<bool>* stop;
  std::atomic<long>* good;
  std::atomic<int>* running;
  void next() {
    client->call<EchoRequest>(EchoRequest{"hello"}, std::chrono::seconds(30),
                              [this](const Result<EchoRequest>& reply) {
                                if (!reply)
                                  std::fprintf(stderr, "%s\n", reply.error().text.c_str());
                                else ++*good;
                                if (reply && !*stop) next();
                                else --*running;
                              });
  }
};

int load(const std::string& port, int connections, int seconds, const char* key_file) {
  const auto auth = auth_of(key_file);
  std::atomic<bool> stop{false};
  std::atomic<long> good{0};
  std::atomic<int> running{connections * kCallsAtOnce};
  std::vector<std::unique_ptr<AsyncClient>> clients;
  std::vector<Chain> chains;
  for (int i = 0; i < connections; ++i) {
    clients.push_back(std::make_unique<AsyncClient>(
        ClientOptions{.addresses = {"127.0.0.1:" + port}, .auth = auth}));
    chains.insert(chains.end(), kCallsAtOnce, Chain{clients.back().get(), &stop, &good, &running});
  }
  for (Chain& chain : chains) chain.next();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  std::printf("%.0f calls/s, client %.1f us CPU a call\n", static_cast<double>(good) / seconds,
              cpu_ms() * 1e3 / static_cast<double>(good));
  stop = true;
  while (running > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return 0;
}

}  // namespace
}  // namespace sluice::net

int main(int argc, char** argv) {
  using namespace sluice::net;  // NOLINT(google-build-using-namespace)
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto key_at = [&](int index) { return argc > index ? argv[index] : nullptr; };
  if (verb == "serve") return serve(key_at(2));
  if (verb == "hello" && argc > 2) return hello(argv[2], key_at(3));
  if (verb == "load" && argc > 4)
    return load(argv[2], std::atoi(argv[3]), std::atoi(argv[4]), key_at(5));
  std::fprintf(stderr, "usage: rpc_bench serve|hello|load …\n");
  return 2;
}
