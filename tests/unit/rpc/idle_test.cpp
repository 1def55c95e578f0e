// What a server and a client cost that have nothing to do. Each test has a process of its own: what
// is looked at is all of its threads, and the second is about a setting of the whole process.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <grpc/event_engine/event_engine.h>
#include <grpc/support/sync.h>
#include <grpc/support/time.h>
#include <sys/prctl.h>

#include "common/base/check.hpp"
#include "common/os/clock.hpp"
#include "common/rpc/idle.hpp"
#include "common/rpc/tickless_engine.hpp"
#include "unit/rpc/rpc_fixture.hpp"

namespace sluice::net {
namespace {

constexpr Duration kQuietTime = std::chrono::seconds(3);
constexpr int kMostLooks = 15;

struct HangRequest {
  static constexpr std::string_view kMethod = "Test/Hang";
  using Reply = EchoReply;
  uint32_t unused = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "unused", &HangRequest::unused);
  }
};

class Idle : public RpcFixture {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  void serve_one_call() {
    serve();
    server->handle<HangRequest, EchoReply>(
        [this](const CallContext&, HangRequest, Responder<EchoReply> responder) {
          unanswered = std::move(responder);
        });
    SLUICE_CHECK(server->start());
    client = std::make_unique<AsyncClient>(to_server());
    SLUICE_CHECK(call<EchoRequest>(kPatience));
  }
  template <class Request>
  Result<EchoReply> call(Duration timeout) const {
    std::promise<Result<EchoReply>> answer;
    client->call<EchoReply>(Request{}, timeout,
                            [&](const Result<EchoReply>& reply) { answer.set_value(reply); });
    return answer.get_future().get();
  }

  Responder<EchoReply> unanswered;
  std::unique_ptr<AsyncClient> client;
};

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// How often each of this process' other threads (of that name, where one is given) has gone to
// sleep.
std::map<std::string, std::string> sleeps(const std::string& name = {}) {
  std::map<std::string, std::string> out;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = thread.path().filename();
    const std::string comm = first_line(thread.path() / "comm");
    if (id == std::to_string(::getpid()) || (!name.empty() && comm != name)) continue;
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("voluntary_ctxt_switches:")) out[comm + " " + id] = line;
    }
  }
  SLUICE_CHECK(!out.empty());
  return out;
}

// What follows a call is over soon: then there is a time in which none of them wakes.
bool becomes_quiet(const std::string& name = {}) {
  for (int i = 0; i < kMostLooks; ++i) {
    const auto before = sleeps(name);
    std::this_thread::sleep_for(kQuietTime);
    if (sleeps(name) == before) return true;
  }
  return false;
}

// They woke up two to four times a second each.
TEST_F(Idle, ThreadsOfCallbacksSleepUntilThereIsSomethingToDo) {
  const auto look = [this] {
    serve_one_call();
    std::_Exit(becomes_quiet("nexting_thread") ? 0 : 1);
  };
  EXPECT_EXIT(look(), ::testing::ExitedWithCode(0), "");
}

TEST_F(Idle, NothingWakesWhereTimersRestAndDeadlinesAreExact) {
  const auto look = [this] {
    rest_when_idle();
    serve_one_call();
    SLUICE_CHECK(becomes_quiet());
    for (const int64_t timeout_ms : {100, 300}) {
      const SteadyTime start = steady_now();
      const Result<EchoReply> reply = call<HangRequest>(std::chrono::milliseconds(timeout_ms));
      SLUICE_CHECK(!reply);
      SLUICE_CHECK(steady_now() - start < kRest / 2);
      SLUICE_CHECK(becomes_quiet());
    }
    SLUICE_CHECK(call<EchoRequest>(kPatience));
    std::_Exit(0);
  };
  EXPECT_EXIT(look(), ::testing::ExitedWithCode(0), "");
}

// The bug: a thread of timers that polled for a channel waited at a condition on its stack. It was
// taken for that of the timers: the poll went on for as long as they rest, and a later call woke
// who was not there any more, which ended the process.
TEST_F(Idle, OtherConditionsAreLeftAlone) {
  const auto look = [] {
    rest_when_idle();
    std::thread([] {
      SLUICE_CHECK(::prctl(PR_SET_NAME, "grpc_global_tim") == 0);
      gpr_mu mutex;
      gpr_cv condition;
      gpr_mu_init(&mutex);
      gpr_cv_init(&condition);
      gpr_mu_lock(&mutex);
      const SteadyTime start = steady_now();
      const gpr_timespec pause = gpr_time_from_millis(50, GPR_TIMESPAN);
      gpr_cv_wait(&condition, &mutex, gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), pause));
      SLUICE_CHECK(steady_now() - start < kRest / 2);
      gpr_mu_unlock(&mutex);
    }).join();
    const UnderWay call;  // it would wake it there
    std::_Exit(0);
  };
  EXPECT_EXIT(look(), ::testing::ExitedWithCode(0), "");
}

TEST(TicklessEngine, RunsWhatIsDueInTheOrderOfItsTime) {
  using std::chrono::milliseconds;
  const auto engine = make_tickless_engine();
  std::mutex mutex;
  std::string ran;
  std::promise<void> last;
  const auto note = [&](char what) {
    return [&, what] {
      const std::lock_guard lock(mutex);
      ran += what;
      if (what == 'd') last.set_value();
    };
  };
  const SteadyTime start = steady_now();
  engine->RunAfter(milliseconds(200), note('d'));
  engine->RunAfter(milliseconds(100), note('c'));
  const auto dropped = engine->RunAfter(milliseconds(50), note('x'));
  EXPECT_TRUE(engine->Cancel(dropped));
  EXPECT_FALSE(engine->Cancel(dropped));
  engine->Run(note('a'));
  const auto second = engine->RunAfter(milliseconds(0), note('b'));
  last.get_future().wait();
  EXPECT_GE(steady_now() - start, milliseconds(200));
  EXPECT_EQ(ran, "abcd");
  EXPECT_FALSE(engine->Cancel(second));
  EXPECT_FALSE(engine->IsWorkerThread());
  std::promise<bool> inside;
  engine->Run([&] { inside.set_value(engine->IsWorkerThread()); });
  EXPECT_TRUE(inside.get_future().get());
}

}  // namespace
}  // namespace sluice::net
