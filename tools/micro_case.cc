#include "tools/micro_case.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/file_ops.h"

namespace kvpagefs {
namespace {

bool Selects(const std::string& word, const std::string& name) {
  return name == word || (name.starts_with(word) && name[word.size()] == '-');
}

Error UnknownCase(const std::string& word, const MicroCaseList& all) {
  std::vector<std::string> names;
  for (const MicroCaseSpec& spec : all) {
    if (std::find(names.begin(), names.end(), spec.name) == names.end()) names.push_back(spec.name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return {ErrorCode::kInvalid, fmt::format("--only '{}' names no case: choose from {}", word, text)};
}

}  // namespace

Result<MicroCaseList> SelectMicroCases(const MicroOptions& options) {
  MicroCaseList all;
  AddWriteCases(options, all);
  AddReadCases(options, all);
  AddMapCases(options, all);
  AddStatCases(options, all);
  AddBatchCases(options, all);
  AddListCases(options, all);
  if (options.only.empty()) return all;
  for (const std::string& word : options.only) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const auto& spec) { return Selects(word, spec.name); });
    if (!known) return UnknownCase(word, all);
  }
  MicroCaseList selected;
  for (MicroCaseSpec& spec : all) {
    const bool wanted = std::any_of(options.only.begin(), options.only.end(),
                                    [&](const std::string& word) { return Selects(word, spec.name); });
    if (wanted) selected.push_back(std::move(spec));
  }
  return selected;
}

Status ReadFilesOnce(const FileSet& files, std::span<std::byte> buffer) {
  for (const std::string& path : files.paths) {
    if (Status read = ReadFile(path, 0, buffer.first(files.bytes)); !read) return read;
  }
  return {};
}

Status DropFileCache(const std::string& path) {
  const Result<UniqueFd> fd = OpenFile(path, O_RDONLY);
  if (!fd) return fd.error();
  return DropCache(fd->get(), path);
}

}  // namespace kvpagefs
