// Starting and ending the life of a file that is being written. Private to fs/; any thread; takes the file's mutex.
#pragma once

#include <functional>
#include <memory>

#include "fs/node_state.h"

namespace kvpagefs {

struct DraftSpec {
  NameRef name;
  uint32_t tid = 0;  // of the writer
  Ownership owner;
  Xattrs xattrs;
};

// A new empty page under that name, shown to its process.
DraftTable::File CreateDraft(Node::State& node, const DraftSpec& spec);

// A new version of a published page, not yet written, shown to its process.
DraftTable::File OpenDraft(Node::State& node, const DraftSpec& spec, const PageInfo& page, PageHold hold);

// Makes sure that there is a draft to write to; `keep_bytes`: with the bytes of the sealed page. kNoSpace.
Status MakeWritableLocked(Node::State& node, const DraftTable::File& file, bool keep_bytes) KVP_REQUIRES(file->mutex);

// Notes that the thread's process writes the file.
void NoteWriterLocked(const DraftTable::File& file, uint32_t tid) KVP_REQUIRES(file->mutex);
// Whether the thread's process opened or wrote the file. A process that only inherited the descriptor (fork, then exec)
// closes it too, and that says nothing about the page.
bool IsWriterLocked(const DraftTable::File& file, uint32_t tid) KVP_REQUIRES(file->mutex);

// Seals and publishes what was written, if anything; `done` runs when the page is visible to everybody, or with why it
// does not exist (and never will: an unsealed file is dropped).
void SealFile(Node::State& node, const DraftTable::File& file, std::function<void(const Status&)> done);

// A page that no name stands for any more leaves this node.
void RemovePage(Node::State& node, PageId page);

// Nobody will see this file's bytes: unlinked, or its writer was killed. Open handles keep what they have.
void DropFile(Node::State& node, const DraftTable::File& file);

// One handle less; the last one takes the file out of the tables (it must be clean or dropped by then).
void ReleaseHandle(Node::State& node, const DraftTable::File& file);

}  // namespace kvpagefs
