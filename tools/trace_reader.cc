#include "tools/trace_reader.h"

#include <cerrno>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kvpagefs {
namespace {

using nlohmann::json;

Error Malformed(std::string text) { return {ErrorCode::kInvalid, std::move(text)}; }

Status ReadNumber(const json& object, const char* field, uint64_t& number) {
  const auto found = object.find(field);
  if (found == object.end()) return Malformed(fmt::format("field '{}' is missing", field));
  if (!found->is_number_unsigned()) return Malformed(fmt::format("field '{}' is not a whole number >= 0", field));
  number = found->get<uint64_t>();
  return {};
}

Status ReadBlockIds(const json& object, std::vector<uint64_t>& block_ids) {
  const auto found = object.find("hash_ids");
  if (found == object.end()) return Malformed("field 'hash_ids' is missing");
  if (!found->is_array()) return Malformed("field 'hash_ids' is not an array");
  block_ids.reserve(found->size());
  for (const json& id : *found) {
    if (!id.is_number_unsigned()) return Malformed("field 'hash_ids' has an entry that is not a whole number >= 0");
    block_ids.push_back(id.get<uint64_t>());
  }
  return {};
}

}  // namespace

Result<TraceRequest> ParseTraceLine(std::string_view line) {
  const json object = json::parse(line.begin(), line.end(), nullptr, false);
  if (object.is_discarded()) return Malformed("is not JSON");
  if (!object.is_object()) return Malformed("is not a JSON object");
  TraceRequest request;
  if (Status read = ReadNumber(object, "timestamp", request.timestamp_ms); !read) return read.error();
  if (Status read = ReadNumber(object, "input_length", request.input_tokens); !read) return read.error();
  if (Status read = ReadNumber(object, "output_length", request.output_tokens); !read) return read.error();
  if (Status read = ReadBlockIds(object, request.block_ids); !read) return read.error();
  return request;
}

Result<std::vector<TraceRequest>> ReadTrace(const std::string& path, uint64_t max_requests) {
  std::ifstream file(path);
  if (!file) return Error::FromSystem(errno, fmt::format("trace '{}' cannot be opened", path));
  std::vector<TraceRequest> requests;
  std::vector<char> line(kMaxTraceLineBytes + 1);
  for (uint64_t number = 1; requests.size() < max_requests; ++number) {
    file.getline(line.data(), static_cast<std::streamsize>(line.size()));
    if (file.bad()) return Error(ErrorCode::kUnavailable, fmt::format("trace '{}' cannot be read: no file?", path));
    const auto got = static_cast<size_t>(file.gcount());
    if (file.fail() && got > 0) {
      return Malformed(fmt::format("trace '{}' line {}: longer than {} bytes", path, number, kMaxTraceLineBytes));
    }
    if (file.fail()) break;
    const std::string_view text(line.data(), got - (file.eof() ? 0 : 1));
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<TraceRequest> request = ParseTraceLine(text);
    if (!request) return Malformed(fmt::format("trace '{}' line {}: {}", path, number, request.error().Describe()));
    requests.push_back(std::move(*request));
  }
  if (requests.empty()) return Malformed(fmt::format("trace '{}' has no requests", path));
  return requests;
}

}  // namespace kvpagefs
