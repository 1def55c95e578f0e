#include "common/syntax/tres_weights.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TresWeights, InTheOrderOfTheTres) {
  const auto weights = parse_tres_weights("GRES/gpu=3000, Mem=-2.5,license/matlab=7,CPU=1000");
  ASSERT_TRUE(weights);
  EXPECT_EQ(*weights,
            (std::vector<TresWeight>{
                {"cpu", 1000}, {"mem", -2.5}, {"gres/gpu", 3000}, {"license/matlab", 7}}));
  EXPECT_TRUE(parse_tres_weights("")->empty());
}

TEST(TresWeights, AreNumbers) {
  for (const char* text : {"cpu", "cpu=", "=5", "cpu=many", "cpu=1,mem", "cpu=nan", "cpu=inf"})
    EXPECT_FALSE(parse_tres_weights(text)) << text;
}

}  // namespace
}  // namespace sluice
