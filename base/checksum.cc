#include "base/checksum.h"

#include <new>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>
#if defined(KVPAGEFS_XXHASH_DISPATCH)
// Replaces the functions by ones that use AVX2 or AVX-512 where the processor has them; the values are the same.
#include <xxh_x86dispatch.h>
#endif

namespace kvpagefs {

// XXH3_state_t needs 64-byte alignment; the struct inherits it and aligned new honours it.
struct StreamingChecksum::State {
  XXH3_state_t xxh3;
};

uint64_t Checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

StreamingChecksum::StreamingChecksum() : state_(new State) { Reset(); }
StreamingChecksum::~StreamingChecksum() = default;
StreamingChecksum::StreamingChecksum(StreamingChecksum&&) noexcept = default;
StreamingChecksum& StreamingChecksum::operator=(StreamingChecksum&&) noexcept = default;

void StreamingChecksum::Reset() { XXH3_64bits_reset(&state_->xxh3); }
void StreamingChecksum::Update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
}
uint64_t StreamingChecksum::Digest() const { return XXH3_64bits_digest(&state_->xxh3); }

}  // namespace kvpagefs
