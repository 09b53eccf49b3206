#include "tools/conversation_workload.h"

#include <gtest/gtest.h>

#include "tools/ideal_hits.h"

namespace kvpagefs {
namespace {

ConversationShape Shape() {
  ConversationShape shape;
  shape.model = *FindModel("llama-8b");
  shape.scale = 0.001;
  return shape;
}

TEST(ConversationWorkload, SharesSystemPromptAndHistory) {
  ConversationShape shape = Shape();
  shape.clients = 3;
  shape.rounds = 2;
  const Workload workload = MakeConversation(shape);
  ASSERT_EQ(workload.requests.size(), 6u);
  // 256 system tokens are 16 pages; a round adds 8 pages of input and 4 of output.
  EXPECT_EQ(workload.pages.size(), 16u + 3 * 2 * 12);
  EXPECT_EQ(workload.requests[0].prompt_pages, 24u);
  EXPECT_EQ(workload.requests[0].pages.size(), 28u);
  EXPECT_EQ(workload.requests[3].prompt_pages, 36u);
  EXPECT_TRUE(std::equal(workload.requests[0].pages.begin(), workload.requests[0].pages.end(),
                         workload.requests[3].pages.begin()));
  EXPECT_EQ(workload.requests[1].pages[15], workload.requests[0].pages[15]);
  EXPECT_NE(workload.requests[1].pages[16], workload.requests[0].pages[16]);
}

// Without a shared prompt the ideal of round r is r(L+O) of (r+1)L + rO tokens.
TEST(ConversationWorkload, IdealFollowsTheFormula) {
  ConversationShape shape = Shape();
  shape.clients = 5;
  shape.rounds = 4;
  shape.system_tokens = 0;
  const Workload workload = MakeConversation(shape);
  const IdealHits ideal = ComputeIdealHits(workload, StoredBefore::kEarlierRequests);
  for (uint64_t i = 0; i < workload.requests.size(); ++i) {
    const uint64_t round = i / shape.clients;
    EXPECT_EQ(ideal.per_request[i] * shape.page_tokens, round * (shape.input_tokens + shape.output_tokens));
    EXPECT_EQ(workload.requests[i].prompt_pages * shape.page_tokens,
              (round + 1) * shape.input_tokens + round * shape.output_tokens);
  }
}

TEST(ConversationWorkload, SameShapeSameNamesOtherSeedOtherNames) {
  ConversationShape shape = Shape();
  const Workload first = MakeConversation(shape);
  const Workload again = MakeConversation(shape);
  EXPECT_EQ(first.pages, again.pages);
  shape.seed = 2;
  EXPECT_NE(first.pages[0], MakeConversation(shape).pages[0]);
}

}  // namespace
}  // namespace kvpagefs
