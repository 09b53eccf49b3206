// One figure of status and metrics. Private to fs/report*.
#pragma once

#include <string_view>
#include <vector>

namespace kvpagefs {

struct Gauge {
  std::string_view name;  // in status; in metrics "kvpagefs_<name>"
  double value;
  std::string_view help;
};

}  // namespace kvpagefs
