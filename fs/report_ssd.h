// The SSD tier's part of status and metrics. Private to fs/report*.
#pragma once

#include <string>
#include <vector>

#include "fs/gauge.h"
#include "fs/tiering.h"

namespace kvpagefs {

// Nothing without an SSD tier.
std::vector<Gauge> SsdGauges(const Tiering& tiering);
std::vector<Gauge> SsdCounts(const Tiering& tiering);
// One line a directory, in words.
std::string SsdDirLines(const Tiering& tiering);

}  // namespace kvpagefs
