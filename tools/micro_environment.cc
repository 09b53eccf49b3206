#include "tools/micro_environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "tools/file_ops.h"
#include "tools/host_info.h"
#include "tools/page_content.h"

namespace kvpagefs {

Result<std::unique_ptr<MicroEnvironment>> MicroEnvironment::Make(const MicroOptions& options, Progress& progress,
                                                                 StopSignal& stop) {
  std::unique_ptr<MicroEnvironment> environment(new MicroEnvironment(options, progress, stop));
  if (Status opened = environment->OpenSide(kDirSide, options.directory); !opened) return opened.error();
  if (Status opened = environment->OpenSide(kAgainstSide, options.against); !opened) return opened.error();
  return environment;
}

MicroEnvironment::~MicroEnvironment() {
  for (const MicroSide& side : sides_) {
    if (side.root.empty()) continue;
    progress_.Show(fmt::format("cleaning up {}", side.root));
    RemoveTree(side.root);
  }
}

Status MicroEnvironment::OpenSide(size_t index, const std::string& given) {
  MicroSide& side = sides_[index];
  side.given = given;
  std::string root = given + "/kvpagebench.XXXXXX";
  if (::mkdtemp(root.data()) == nullptr) {
    return Error::FromSystem(errno, fmt::format("directory in '{}' cannot be made", given));
  }
  side.root = root;
  side.filesystem = FilesystemName(root);
  side.can_be_cold = side.filesystem != "tmpfs";
  const std::string probe = root + "/direct-probe";
  const AlignedBuffer page(AlignedBuffer::kAlignment);
  if (Status written = WriteFile(probe, page.Span(0, page.size())); !written) return written;
  side.direct = ReadFile(probe, O_DIRECT, page.Span(0, page.size())).ok();
  ::unlink(probe.c_str());
  return {};
}

Result<FileSets> MicroEnvironment::Files(uint64_t count, uint64_t bytes) {
  const auto key = std::make_pair(count, bytes);
  auto found = file_sets_.find(key);
  if (found == file_sets_.end()) {
    std::array<FileSet, kSideCount> sets;
    for (size_t side = 0; side < kSideCount; ++side) {
      Result<FileSet> made = MakeFiles(side, count, bytes);
      if (!made) return made.error();
      sets[side] = std::move(*made);
    }
    found = file_sets_.emplace(key, std::move(sets)).first;
  }
  return FileSets{&found->second[kDirSide], &found->second[kAgainstSide]};
}

Result<FileSet> MicroEnvironment::MakeFiles(size_t side, uint64_t count, uint64_t bytes) {
  FileSet set{.directory = fmt::format("{}/files-{}x{}", sides_[side].root, count, bytes),
              .bytes = bytes,
              .paths = {},
              .seeds = {}};
  if (Status made = MakeDirectory(set.directory); !made) return made.error();
  const auto content = Buffer(bytes);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("page-{:05}_{}.bin", i, options_.seed);
    set.paths.push_back(set.directory + '/' + name);
    set.seeds.push_back(ContentSeed(name) + bytes);
    FillContent(set.seeds.back(), content);
    if (Status written = WriteFile(set.paths.back(), content); !written) return written.error();
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (Status read = ReadFile(set.paths[i], 0, content); !read) return read.error();
    if (Status right = CheckContent(set.seeds[i], content, set.paths[i]); !right) return right.error();
  }
  return set;
}

Result<std::array<std::string, kSideCount>> MicroEnvironment::NewDirectories(const std::string& name) {
  std::array<std::string, kSideCount> paths;
  for (size_t side = 0; side < kSideCount; ++side) {
    paths[side] = sides_[side].root + '/' + name;
    if (Status made = MakeDirectory(paths[side]); !made) return made.error();
  }
  return paths;
}

std::span<std::byte> MicroEnvironment::Buffer(size_t bytes) {
  if (buffer_.size() < bytes) buffer_ = AlignedBuffer(bytes);
  return buffer_.Span(0, bytes);
}

Status CheckContent(uint64_t seed, std::span<const std::byte> bytes, const std::string& path) {
  const auto wrong = FindWrongByte(seed, bytes);
  if (!wrong.has_value()) return {};
  return Error(ErrorCode::kLost, fmt::format("'{}' has a wrong byte at offset {}", path, *wrong));
}

}  // namespace kvpagefs
