// Nodes that use a metadata service on loopback.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meta/remote_meta.h"
#include "unit/meta/meta_service.h"
#include "unit/meta/testing.h"
#include "unit/temp_dir.h"

namespace kvpagefs::testing {

// A node: its client, and what the service asked of it.
class ClientNode {
 public:
  ClientNode(const Service& service, const std::string& identity, int64_t call_timeout_ms = 60'000)
      : meta_(&threads_, OptionsOf(service, identity, call_timeout_ms), &clock_, Log::Discard()) {}

  void Start(const std::vector<HeldPage>& held = {}) {
    RemoteMeta::NodeSide side;
    side.describe = [this](PageId id, PageDescription* described) {
      const std::lock_guard lock(mutex_);
      const auto found = kept_.find(id.value);
      if (found == kept_.end()) return false;
      *described = found->second;
      return true;
    };
    side.on_gone = [this](std::span<const PageId> pages) {
      if (on_gone_) on_gone_();
      const std::lock_guard lock(mutex_);
      for (const PageId id : pages) gone_.insert(id.value);
    };
    side.use = [] { return NodeUse(); };
    meta_.Start(std::move(side), held);
  }
  RemoteMeta* operator->() { return &meta_; }

  // Starts an operation and waits for its answer: Ask<T>([&](auto done) { ... }).
  template <class T, class Operation>
  static Result<T> Ask(const Operation& operation) {
    return net_test::Await(Begin<T>(operation));
  }
  template <class T, class Operation>
  static std::future<Result<T>> Begin(const Operation& operation) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    std::future<Result<T>> future = promise->get_future();
    operation([promise](Result<T> result) { promise->set_value(std::move(result)); });
    return future;
  }

  // A new page as this node makes one.
  PageInfo NewPage(uint64_t content) {
    PageInfo page = Page(1, content);
    page.id = meta_.NewPageId();
    return page;
  }
  Result<Namespace::Outcome> PublishAs(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive) {
    return Ask<Namespace::Outcome>([&](auto done) { meta_.Publish(name, page, xattrs, exclusive, std::move(done)); });
  }
  Result<Namespace::Outcome> Publish(const std::string& name, const PageInfo& page, bool exclusive = false) {
    return PublishAs({kRootDir, name}, page, {}, exclusive);
  }
  // Published without fail.
  PageInfo Put(const std::string& name, uint64_t content, DirId dir = kRootDir, const Xattrs& xattrs = {}) {
    const PageInfo page = NewPage(content);
    EXPECT_TRUE(PublishAs({dir, name}, page, xattrs, false).ok()) << name;
    return page;
  }
  Result<EntryInfo> Lookup(const std::string& name, DirId dir = kRootDir) {
    return Ask<EntryInfo>([&](auto done) { meta_.Lookup({dir, name}, std::move(done)); });
  }
  // Id 0: not there.
  PageId Find(const std::string& name, DirId dir = kRootDir) {
    const Result<EntryInfo> entry = Lookup(name, dir);
    const auto* page = entry.ok() ? std::get_if<PageInfo>(&*entry) : nullptr;
    return page != nullptr ? page->id : PageId{};
  }
  Result<PageInfo> Unlink(const std::string& name, DirId dir = kRootDir) {
    return Ask<PageInfo>([&](auto done) { meta_.Unlink({dir, name}, std::move(done)); });
  }
  Result<Namespace::Outcome> Rename(const std::string& from, const std::string& to,
                                    Namespace::RenameMode mode = Namespace::RenameMode::kReplace) {
    return Ask<Namespace::Outcome>(
        [&](auto done) { meta_.Rename({kRootDir, from}, {kRootDir, to}, mode, std::move(done)); });
  }
  Result<DirInfo> MakeDir(const std::string& name, DirId dir = kRootDir) {
    return Ask<DirInfo>([&](auto done) { meta_.MakeDir({dir, name}, {7, 8, 0700}, std::move(done)); });
  }
  Result<std::vector<NameRef>> Drop(const std::vector<PageId>& pages) {
    return Ask<std::vector<NameRef>>([&](auto done) { meta_.DropPages(pages, std::move(done)); });
  }
  Status SetXattr(uint64_t id, const std::string& key, const std::string& value,
                  Namespace::XattrMode mode = Namespace::XattrMode::kEither) {
    return Ask<void>([&](auto done) { meta_.SetXattr(id, key, value, mode, std::move(done)); });
  }
  Result<std::string> GetXattr(uint64_t id, const std::string& key) {
    return Ask<std::string>([&](auto done) { meta_.GetXattr(id, key, std::move(done)); });
  }
  Status SetPin(PageId id, Pin pin) {
    return Ask<void>([&](auto done) { meta_.SetPin(id, pin, std::move(done)); });
  }
  Result<PageInfo> FindPage(PageId id) {
    return Ask<PageInfo>([&](auto done) { meta_.FindPage(id, std::move(done)); });
  }
  Result<Replicas> Locate(PageId id) {
    return Ask<Replicas>([&](auto done) { meta_.Locate(id, std::move(done)); });
  }
  // This node's copy, as the service says it to another node; kNoTier: none.
  uint8_t SeenBy(ClientNode& other, PageId id) {
    other->ForgetLocation(id);
    const Result<Replicas> replicas = other.Locate(id);
    if (!replicas.ok()) return kNoTier;
    for (const Replica& replica : *replicas) {
      if (replica.node == meta_.number()) return replica.tiers;
    }
    return kNoTier;
  }

  // Until the service has heard everything that was told so far: this is answered behind it.
  void WaitUntilTold() { EXPECT_TRUE(Drop({PageId::Make(UINT16_MAX, 1)}).ok()); }

  bool IsGone(PageId id) const {
    const std::lock_guard lock(mutex_);
    return gone_.contains(id.value);
  }
  // What the node has kept beside a page's bytes.
  void Keep(const PageDescription& described) {
    const std::lock_guard lock(mutex_);
    kept_[described.page.id.value] = described;
  }
  // Before Start.
  void set_on_gone(std::function<void()> on_gone) { on_gone_ = std::move(on_gone); }

 private:
  static RemoteMeta::Options OptionsOf(const Service& service, const std::string& identity, int64_t call_timeout_ms) {
    RemoteMeta::Options options;
    options.addresses = {service.address()};
    options.identity = identity;
    options.node_name = "name-" + identity;
    options.address = "address-of-" + identity;
    options.call_timeout_ms = call_timeout_ms;
    return options;
  }

  const SystemClock clock_;
  NetThreads threads_{1};
  std::function<void()> on_gone_;
  mutable std::mutex mutex_;
  std::set<uint64_t> gone_;
  std::map<uint64_t, PageDescription> kept_;
  RemoteMeta meta_;
};

class RemoteMetaFixture : public ::testing::Test {
 protected:
  enum class Store : uint8_t { kNone, kKept };
  explicit RemoteMetaFixture(Store store = Store::kNone) : service_(store == Store::kNone ? "" : dir_.path()) {}

  std::unique_ptr<ClientNode> Join(const std::string& identity, int64_t call_timeout_ms = 60'000) {
    auto node = std::make_unique<ClientNode>(service_, identity, call_timeout_ms);
    node->Start();
    EXPECT_TRUE((*node)->WaitUntilJoined(60'000));
    node->WaitUntilTold();
    return node;
  }
  void StopService(ClientNode& node) {
    service_.Stop();
    ASSERT_TRUE(WaitFor([&] { return !node->connected(); }));
  }
  void StartService(ClientNode& node) {
    service_.Start();
    ASSERT_TRUE(node->WaitUntilJoined(60'000));
  }

  const test_files::TempDir dir_;
  Service service_;
};

}  // namespace kvpagefs::testing
