// Keeps a namespace in an LMDB file in the state directory: changes are collected in memory and written behind, in
// batches, by one thread. Format: meta/STORE.md.
//
// The file always holds a state the namespace went through (all changes up to one Commit, none after it).
// A write that fails makes a problem: changes go on being collected, and writing is tried again. Changes are bounded:
// when there is no room for more, the caller of Commit waits up to full_wait while writing works; if that does not
// help, or writing does not work, all collected changes are discarded, and the whole namespace is written to a new
// file, which takes the place of the old one, as soon as that is possible.
//
// Lock order: the lock of the namespace, then the store's. The writer takes the namespace's lock (inside
// RewriteSource) while it holds none.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "meta/namespace.h"

namespace kvpagefs {

class LmdbStore final : public Journal {
 public:
  struct Options {
    std::string dir;
    std::chrono::milliseconds batch_interval{50};  // the oldest change waits at most so long
    size_t batch_changes = 4096;                   // so many do not wait
    size_t max_changes = size_t{1} << 18;
    size_t max_bytes = size_t{64} << 20;  // of records; twice of both can be in memory while a batch is written
    std::chrono::milliseconds full_wait{1000};
    std::chrono::milliseconds retry_interval{1000};
  };

  // What Load found. Rows that are counted as lost are deleted from the file.
  struct LoadCounts {
    uint64_t directories = 0;  // without the root
    uint64_t pages = 0;
    uint64_t gone = 0;     // pages that `keep` did not want
    uint64_t damaged = 0;  // rows that could not be decoded
    uint64_t misfits = 0;  // rows that belong to nothing
    std::string first_loss;
  };

  // Runs on the writer's thread: Namespace::Walk under the namespace's lock.
  using RewriteSource = std::function<bool(Namespace::WalkPosition* position, Journal* sink)>;

  // Errors of StateDir::Open, and kInvalid for a file that is damaged as a whole.
  static Result<std::unique_ptr<LmdbStore>> Open(const Options& options, Log log);
  // Writes what is left, for at most 10 s.
  ~LmdbStore() override;

  // Once, before Start, into an empty namespace that tells this store. Pages that `keep` does not want are left out.
  Result<LoadCounts> Load(Namespace* into, const std::function<bool(const PageInfo&)>& keep);
  void Start(RewriteSource source);
  // No calls of the source after this; writes what is left.
  void Stop();

  // Waits until everything before the call is on disk: kUnavailable with the reason when it cannot be written now, or
  // not within `limit`. Any thread.
  Status Flush(std::chrono::milliseconds limit);
  // Empty while writing works. Any thread.
  std::string Problem() const;

  // Page ids from here on were never used. After Load.
  uint64_t next_page_id() const;
  // Page ids below `next_page_id` may be in use from now on. Any thread.
  void ReservePageIds(uint64_t next_page_id);

  // Journal; called under the namespace's lock.
  void PutPage(NameView name, const PageInfo& page, uint64_t cursor) override;
  void PutDir(NameView name, const DirInfo& dir, uint64_t cursor) override;
  void RemovePage(DirId parent, uint64_t cursor) override;
  void RemoveDir(DirId parent, uint64_t cursor) override;
  void PutXattrs(uint64_t id, const Xattrs& xattrs) override;
  void ReserveIds(uint64_t next_dir_id) override;
  void Commit() override;

 private:
  struct State;
  explicit LmdbStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
