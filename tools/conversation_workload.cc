#include "tools/conversation_workload.h"

#include <cassert>
#include <map>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "tools/text_table.h"

namespace kvpagefs {
namespace {

constexpr uint32_t kVocabulary = 128'000;

class TokenSource {
 public:
  explicit TokenSource(uint64_t seed) : random_(seed) {}
  void Append(uint64_t count, std::vector<uint32_t>& tokens) {
    for (uint64_t i = 0; i < count; ++i) tokens.push_back(static_cast<uint32_t>(random_() % kVocabulary));
  }

 private:
  std::mt19937_64 random_;
};

class PageIndex {
 public:
  explicit PageIndex(std::vector<PageKey>& pages) : pages_(pages) {}
  uint32_t Of(const PageKey& key) {
    const auto [found, added] = index_.try_emplace(key, static_cast<uint32_t>(pages_.size()));
    if (added) pages_.push_back(key);
    return found->second;
  }

 private:
  std::vector<PageKey>& pages_;
  std::map<PageKey, uint32_t> index_;
};

std::string Describe(const ConversationShape& shape, uint64_t page_bytes) {
  return fmt::format(
      "{}, {} tokens a page ({}), {} clients x {} rounds, {} system + {} in + {} out tokens a round, seed {}",
      shape.model.name, shape.page_tokens, ShortSize(page_bytes), shape.clients, shape.rounds, shape.system_tokens,
      shape.input_tokens, shape.output_tokens, shape.seed);
}

}  // namespace

Workload MakeConversation(const ConversationShape& shape) {
  assert(shape.page_tokens > 0);
  Workload workload;
  workload.model = shape.model.file_name;
  workload.page_bytes = ModelPageBytes(shape.model, shape.page_tokens, shape.scale);
  workload.description = Describe(shape, workload.page_bytes);
  PageIndex index(workload.pages);
  TokenSource source(shape.seed);
  std::vector<uint32_t> system;
  source.Append(shape.system_tokens, system);
  std::vector<std::vector<uint32_t>> histories(shape.clients, system);
  for (uint64_t round = 0; round < shape.rounds; ++round) {
    for (std::vector<uint32_t>& history : histories) {
      source.Append(shape.input_tokens, history);
      WorkloadRequest request;
      request.prompt_pages = static_cast<uint32_t>(history.size() / shape.page_tokens);
      source.Append(shape.output_tokens, history);
      for (const PageKey& key : ChainKeys(history, shape.page_tokens)) request.pages.push_back(index.Of(key));
      workload.requests.push_back(std::move(request));
    }
  }
  return workload;
}

}  // namespace kvpagefs
