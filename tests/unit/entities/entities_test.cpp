#include "dbd/entities/entities.hpp"

#include <gtest/gtest.h>

namespace sluice::dbd {
namespace {

TEST(Entities, ANewDatabaseHasQosNormalTresAndRoot) {
  const Entities entities = new_entities();
  ASSERT_NE(find_qos(entities, "normal"), nullptr);
  EXPECT_EQ(find_qos(entities, "normal")->record.id, 1U);
  EXPECT_EQ(tres_list(entities).size(), 8U);
  ASSERT_NE(find_user(entities, "root"), nullptr);
  EXPECT_EQ(find_user(entities, "root")->admin_level, AdminLevel::kAdministrator);
  EXPECT_NE(find_account(entities, "root"), nullptr);
}

}  // namespace
}  // namespace sluice::dbd
