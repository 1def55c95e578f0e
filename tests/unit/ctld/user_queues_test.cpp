// One user's programs do not hold up others'.
#include "ctld/agents/user_queues.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

// The bug: four programs of one user that slept held up the triggers of everybody.
TEST(UserQueues, OfOneUserOneRunsAtATime) {
  std::promise<void> end, others_are_done;
  const std::shared_future<void> ended = end.get_future().share();
  std::atomic<int> running = 0, most = 0, done = 0;
  std::vector<int> order;
  {
    UserQueues queues(4);
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(queues.add(1001, [&, i] {
        most = std::max(most.load(), ++running);
        ended.wait();
        order.push_back(i);  // one at a time
        --running;
      }));
    }
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(queues.add(1002, [&] {
        if (++done == 10) others_are_done.set_value();
      }));
    }
    EXPECT_EQ(others_are_done.get_future().wait_for(std::chrono::seconds(30)),
              std::future_status::ready);
    EXPECT_TRUE(order.empty());
    end.set_value();
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) << "each of them ran, in order";
}

TEST(UserQueues, SomeOfAUserWaitAndNoMore) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  UserQueues queues(1);
  EXPECT_TRUE(queues.add(1001, [ended] { ended.wait(); }));
  for (size_t i = 0; i < UserQueues::kMostWaiting; ++i) EXPECT_TRUE(queues.add(1001, [] {}));
  EXPECT_FALSE(queues.add(1001, [] {}));
  EXPECT_TRUE(queues.add(1002, [] {}));
  end.set_value();
}

}  // namespace
}  // namespace sluice::ctld
