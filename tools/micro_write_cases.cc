// create + write + close at the final name, and the same under a temporary name with a rename.
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "tools/file_ops.h"
#include "tools/micro_case.h"
#include "tools/page_content.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

class WriteCase final : public MicroCase {
 public:
  WriteCase(MicroEnvironment& environment, uint64_t bytes, bool publish)
      : environment_(environment), bytes_(bytes), publish_(publish) {}

  size_t ItemCount() const override { return environment_.options().files; }

  Status Prepare(size_t side, size_t item) override {
    final_path_ =
        fmt::format("{}/new-{}-{}_{}.bin", environment_.side(side).root, item, bytes_, environment_.options().seed);
    temporary_path_ = final_path_ + ".tmp.1.1.00000000000000000000000000000000";
    seed_ = environment_.options().seed + item;
    FillContent(seed_, environment_.Buffer(bytes_));
    return {};
  }

  Status Run(size_t /*side*/, size_t /*item*/) override {
    const std::string& path = publish_ ? temporary_path_ : final_path_;
    Result<UniqueFd> fd = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL);
    if (!fd) return fd.error();
    if (Status written = WriteAll(fd->get(), environment_.Buffer(bytes_), path); !written) return written;
    if (Status closed = CloseFile(std::move(*fd), path); !closed) return closed;
    if (publish_ && std::rename(path.c_str(), final_path_.c_str()) != 0) {
      return Error::FromSystem(errno, fmt::format("rename to '{}'", final_path_));
    }
    return {};
  }

  Status Verify(size_t /*side*/, size_t /*item*/) override {
    const auto buffer = environment_.Buffer(bytes_);
    if (Status read = ReadFile(final_path_, 0, buffer); !read) return read;
    return CheckContent(seed_, buffer, final_path_);
  }

  Status Finish(size_t /*side*/, size_t /*item*/) override {
    if (::unlink(final_path_.c_str()) != 0) return Error::FromSystem(errno, fmt::format("unlink '{}'", final_path_));
    return {};
  }

 private:
  MicroEnvironment& environment_;
  const uint64_t bytes_;
  const bool publish_;
  std::string final_path_;
  std::string temporary_path_;
  uint64_t seed_ = 0;
};

}  // namespace

void AddWriteCases(const MicroOptions& options, MicroCaseList& list) {
  for (const bool publish : {false, true}) {
    for (const uint64_t bytes : options.sizes_bytes) {
      list.push_back({.name = publish ? "publish" : "create",
                      .label = publish ? "create+write+close+rename" : "create+write+close",
                      .size_bytes = bytes,
                      .size_label = ShortSize(bytes),
                      .cache = CacheState::kAny,
                      .direct = false,
                      .make = [bytes, publish](MicroEnvironment& environment) -> Result<std::unique_ptr<MicroCase>> {
                        return std::unique_ptr<MicroCase>(new WriteCase(environment, bytes, publish));
                      }});
    }
  }
}

}  // namespace kvpagefs
