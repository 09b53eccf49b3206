#include "tools/chain_hash.h"

#include <numeric>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

// Expected values come from Python:
//   prev = b''
//   for page in pages: prev = hashlib.sha256(prev + b''.join(struct.pack('<I', t) for t in page)).digest()

TEST(Sha256, EmptyInput) {
  EXPECT_EQ(ToHex(Sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ChainKeys, TwoPagesOfTwoTokens) {
  const std::vector<uint32_t> tokens = {1, 2, 3, 4};
  const std::vector<PageKey> keys = ChainKeys(tokens, 2);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(ToHex(keys[0]), "34fb5c825de7ca4aea6e712f19d439c1da0c92c37b423936c5f618545ca4fa1f");
  EXPECT_EQ(ToHex(keys[1]), "c57b445f90651b9a650e516ab2238c965b21af35608a31c303e6d9e407f2915c");
}

TEST(ChainKeys, OnlyFullPages) {
  std::vector<uint32_t> tokens(16);
  std::iota(tokens.begin(), tokens.end(), 0);
  tokens.insert(tokens.end(), 16, 128255);
  tokens.push_back(7);
  const std::vector<PageKey> keys = ChainKeys(tokens, 16);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(ToHex(keys[0]), "5d85718ec594b982c252d0279e5966ffca33a5eaf2a455038d3ab331fde70cea");
  EXPECT_EQ(ToHex(keys[1]), "b30fc6d251102ea960923de379dc496e573b46055cbf6a68c91ebdba78d38717");
  EXPECT_TRUE(ChainKeys(std::span(tokens).first(15), 16).empty());
}

TEST(ChainKeys, EqualPrefixesHaveEqualKeysAndNothingElse) {
  const std::vector<PageKey> left = ChainKeys(std::vector<uint32_t>{1, 2, 3}, 1);
  const std::vector<PageKey> right = ChainKeys(std::vector<uint32_t>{1, 9, 3}, 1);
  EXPECT_EQ(left[0], right[0]);
  EXPECT_NE(left[1], right[1]);
  EXPECT_NE(left[2], right[2]);
}

}  // namespace
}  // namespace kvpagefs
