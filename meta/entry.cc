#include "meta/entry.h"

#include <cassert>
#include <cstring>
#include <new>

namespace kvpagefs {

Entry* NewEntry(uint32_t parent, std::string_view packed_name, uint64_t id) {
  assert(packed_name.size() <= kMaxPackedNameBytes);
  void* memory = ::operator new(sizeof(Entry) + packed_name.size());
  auto* entry = new (memory) Entry{};
  entry->id = id;
  entry->parent = parent;
  entry->name_bytes = static_cast<uint16_t>(packed_name.size()) & 0x7ff;
  if (!packed_name.empty()) {
    std::memcpy(static_cast<char*>(memory) + sizeof(Entry), packed_name.data(), packed_name.size());
  }
  return entry;
}

void FreeEntry(Entry* entry) { ::operator delete(entry); }

}  // namespace kvpagefs
