// The table that libfuse calls. Private to fs/.
#pragma once

#include "fs/ops.h"

namespace kvpagefs {

// `init` is the session's own.
fuse_lowlevel_ops SessionOps(void (*init)(void* userdata, fuse_conn_info* connection));

struct GrantedFeatures {
  bool direct_io_with_mmap = false;
};

// Asks for what we use of what kernel and libfuse offer.
GrantedFeatures NegotiateFeatures(fuse_conn_info* connection);

}  // namespace kvpagefs
