// What a fetch must know of a page.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/pin.h"

namespace kvpagefs {

struct FetchedPage {
  PageId id;
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  Pin pin = Pin::kNone;
};

}  // namespace kvpagefs
