// Random operations on a Namespace and on a naive model; after each, both answer alike, and the invariants hold.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

struct Node {
  bool is_directory = false;
  uint64_t cursor = 0;
  PageInfo page;
  uint64_t dir = 0;
};
using Place = std::pair<uint64_t, std::string>;  // directory and name

struct Model {
  std::map<Place, Node> nodes;
  std::map<uint64_t, uint64_t> cursors = {{1, 0}};  // last one, by directory

  Node* Find(const Place& place) {
    const auto found = nodes.find(place);
    return found == nodes.end() ? nullptr : &found->second;
  }
  bool IsEmpty(uint64_t dir) const {
    const auto first = nodes.lower_bound({dir, ""});
    return first == nodes.end() || first->first.first != dir;
  }
  uint64_t ParentOf(uint64_t dir) const {
    for (const auto& [place, node] : nodes) {
      if (node.is_directory && node.dir == dir) return place.first;
    }
    return 1;
  }
  bool IsWithin(uint64_t dir, uint64_t ancestor) const {
    for (; dir != 1; dir = ParentOf(dir)) {
      if (dir == ancestor) return true;
    }
    return ancestor == 1;
  }
  Node& Add(const Place& place) {
    Node& node = nodes[place];
    node.cursor = ++cursors[place.first];
    return node;
  }
  static bool Equal(const PageInfo& a, const PageInfo& b) { return a.bytes == b.bytes && a.checksum == b.checksum; }
  // What a page over a page leaves.
  static PageInfo Over(const PageInfo& old, PageInfo page) {
    if (Equal(old, page)) page.id = old.id;
    return page;
  }
};

class ModelTest : public ::testing::Test {
 protected:
  void OneStep() {
    switch (random_() % 10) {
      case 0:
      case 1:
      case 2: return Publish();
      case 3: return Unlink();
      case 4: return MakeDir();
      case 5: return RemoveDir();
      case 6:
      case 7: return Rename();
      case 8: return Drop();
      default: return Change();
    }
  }

  void Publish() {
    const Place place = AnyPlace();
    PageInfo page = testing::Page(next_id_++, 1 + random_() % 3);
    page.owner.uid = static_cast<uint32_t>(random_() % 5);
    const bool exclusive = random_() % 4 == 0;
    const auto outcome = names_.Publish(View(place), page, {}, exclusive);
    Node* node = model_.Find(place);
    if (node == nullptr) {
      ASSERT_TRUE(outcome.ok());
      ASSERT_FALSE(outcome->dropped.has_value());
      model_.Add(place).page = page;
    } else if (exclusive || node->is_directory) {
      ASSERT_EQ(outcome.code(), exclusive ? ErrorCode::kExists : ErrorCode::kIsDirectory);
    } else {
      ASSERT_TRUE(outcome.ok());
      ASSERT_EQ(outcome->dropped, Model::Equal(node->page, page) ? page.id : node->page.id);
      node->page = Model::Over(node->page, page);
    }
  }

  void Unlink() {
    const Place place = AnyPlace();
    const auto gone = names_.Unlink(View(place), 1);
    const Node* node = model_.Find(place);
    const bool possible = node != nullptr && !node->is_directory;
    ASSERT_EQ(gone.ok(), possible);
    if (!possible) {
      ASSERT_EQ(gone.code(), node == nullptr ? ErrorCode::kNotFound : ErrorCode::kIsDirectory);
      return;
    }
    ASSERT_TRUE(testing::Same(*gone, node->page));
    model_.nodes.erase(place);
  }

  void Drop() {
    const Place place = AnyPlace();
    const Node* node = model_.Find(place);
    if (node == nullptr || node->is_directory) return;
    const auto name = names_.DropPage(node->page.id, 1);
    ASSERT_TRUE(name.has_value());
    ASSERT_EQ(Place(name->parent.value, name->name), place);
    model_.nodes.erase(place);
  }

  void MakeDir() {
    const Place place = AnyPlace();
    const auto dir = names_.MakeDir(View(place), {}, 1);
    if (model_.Find(place) != nullptr) {
      ASSERT_EQ(dir.code(), ErrorCode::kExists);
      return;
    }
    ASSERT_TRUE(dir.ok());
    ASSERT_TRUE(ever_.insert(dir->id.value).second);  // N4
    Node& node = model_.Add(place);
    node.is_directory = true;
    node.dir = dir->id.value;
    model_.cursors[node.dir] = 0;
    dirs_.push_back(node.dir);
  }

  void RemoveDir() {
    const Place place = AnyPlace();
    const Status removed = names_.RemoveDir(View(place), 1);
    const Node* node = model_.Find(place);
    if (node == nullptr) {
      ASSERT_EQ(removed.code(), ErrorCode::kNotFound);
    } else if (!node->is_directory) {
      ASSERT_EQ(removed.code(), ErrorCode::kNotDirectory);
    } else if (!model_.IsEmpty(node->dir)) {
      ASSERT_EQ(removed.code(), ErrorCode::kNotEmpty);
    } else {
      ASSERT_TRUE(removed.ok());
      std::erase(dirs_, node->dir);
      model_.nodes.erase(place);
    }
  }

  std::optional<ErrorCode> RenameError(const Node* source, const Node* target, uint64_t to_dir, bool no_replace) {
    if (source == nullptr) return ErrorCode::kNotFound;
    if (target != nullptr && no_replace) return ErrorCode::kExists;
    if (source == target) return std::nullopt;
    if (source->is_directory && model_.IsWithin(to_dir, source->dir)) return ErrorCode::kInvalid;
    if (target == nullptr) return std::nullopt;
    if (source->is_directory && !target->is_directory) return ErrorCode::kNotDirectory;
    if (!source->is_directory && target->is_directory) return ErrorCode::kIsDirectory;
    if (target->is_directory && !model_.IsEmpty(target->dir)) return ErrorCode::kNotEmpty;
    return std::nullopt;
  }

  void Rename() {
    const Place from = AnyPlace();
    const Place to = AnyPlace();
    const bool no_replace = random_() % 4 == 0;
    const auto mode = no_replace ? Namespace::RenameMode::kNoReplace : Namespace::RenameMode::kReplace;
    Node* source = model_.Find(from);
    Node* target = model_.Find(to);
    const auto error = RenameError(source, target, to.first, no_replace);
    const auto outcome = names_.Rename(View(from), View(to), mode, 2);
    ASSERT_EQ(outcome.ok(), !error.has_value());
    if (error) {
      ASSERT_EQ(outcome.code(), *error);
      return;
    }
    if (source == target) return;
    const Node moved = *source;
    model_.nodes.erase(from);
    if (target == nullptr) {
      Node& node = model_.Add(to);
      const uint64_t cursor = node.cursor;
      node = moved;
      node.cursor = cursor;
    } else if (moved.is_directory) {
      std::erase(dirs_, target->dir);
      target->dir = moved.dir;
    } else {
      ASSERT_EQ(outcome->dropped, Model::Equal(target->page, moved.page) ? moved.page.id : target->page.id);
      target->page = Model::Over(target->page, moved.page);
    }
  }

  void Change() {
    const Place place = AnyPlace();
    Node* node = model_.Find(place);
    if (node == nullptr || node->is_directory) return;
    AttributeChange change;
    change.set_uid = change.set_mtime = true;
    change.owner.uid = static_cast<uint32_t>(random_() % 100);
    change.mtime_ns = static_cast<int64_t>(random_() % 1000);
    ASSERT_TRUE(names_.ChangePage(node->page.id, change).ok());
    ASSERT_TRUE(names_.SetPin(node->page.id, Pin::kSoft).ok());
    node->page.owner.uid = change.owner.uid;
    node->page.mtime_ns = change.mtime_ns;
    node->page.pin = Pin::kSoft;
  }

  // N1-N4 and equality: everything that the model has is found by name and id, and listed once, and nothing else.
  void CheckAll() {
    NamespaceStats expected;
    expected.directories = dirs_.size();
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> counts;
    for (auto& [place, node] : model_.nodes) {
      ++counts[place.first].first;
      const auto found = names_.Lookup(View(place));
      ASSERT_TRUE(found.ok());
      if (node.is_directory) {
        ++counts[place.first].second;
        ASSERT_EQ(std::get<DirInfo>(*found).id.value, node.dir);
        ASSERT_EQ(names_.FindDir(DirId{node.dir})->parent.value, place.first);
        ASSERT_EQ(names_.NameOfDir(DirId{node.dir})->name, place.second);
      } else {
        ++expected.pages;
        expected.page_bytes += node.page.bytes;
        ASSERT_TRUE(testing::Same(std::get<PageInfo>(*found), node.page));
        ASSERT_TRUE(testing::Same(*names_.FindPage(node.page.id), node.page));
        ASSERT_EQ(names_.NameOfPage(node.page.id)->name, place.second);
      }
    }
    ASSERT_EQ(names_.GetStats().pages, expected.pages);
    ASSERT_EQ(names_.GetStats().page_bytes, expected.page_bytes);
    ASSERT_EQ(names_.GetStats().directories, expected.directories);
    for (const uint64_t dir : dirs_) {
      const auto info = names_.FindDir(DirId{dir});
      ASSERT_TRUE(info.has_value());
      ASSERT_EQ(info->entries, counts[dir].first);
      ASSERT_EQ(info->directories, counts[dir].second);
      const auto listed = names_.List(DirId{dir}, 0, SIZE_MAX, SIZE_MAX);
      ASSERT_TRUE(listed.ok());
      ASSERT_EQ(listed->size(), counts[dir].first);
      for (const ListedEntry& entry : *listed) {
        const Node* node = model_.Find({dir, entry.name});
        ASSERT_NE(node, nullptr);
        ASSERT_EQ(entry.cursor, node->cursor);  // N3
        ASSERT_EQ(entry.id, node->is_directory ? node->dir : node->page.id.value);
      }
    }
  }

  Place AnyPlace() {
    // Few names, so that operations meet; some with digits that are packed.
    static constexpr const char* kNames[] = {"a", "b", "c", "0123456789abcdef", "0123456789abcdee", "x.tmp"};
    return {dirs_[random_() % dirs_.size()], kNames[random_() % std::size(kNames)]};
  }
  static NameView View(const Place& place) { return {DirId{place.first}, place.second}; }

  const unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
  Namespace names_{nullptr, {}, 0};
  Model model_;
  std::vector<uint64_t> dirs_ = {1};
  std::set<uint64_t> ever_;
  uint64_t next_id_ = 1;
};

TEST_F(ModelTest, RandomOperations) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int step = 0; step < 6'000; ++step) {
    OneStep();
    if (step % 20 == 0) CheckAll();
    if (HasFatalFailure()) return;
  }
  CheckAll();
}

}  // namespace
}  // namespace kvpagefs
