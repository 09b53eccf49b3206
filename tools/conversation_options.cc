#include "tools/conversation_options.h"

#include <sstream>

#include <fmt/format.h>
#include <boost/program_options.hpp>

#include "tools/file_ops.h"

namespace kvpagefs {
namespace {

namespace po = boost::program_options;

constexpr uint64_t kMaxPageTokens = 4096;
constexpr uint64_t kMaxTokens = 1'000'000;
constexpr uint64_t kMaxClients = 100'000;

po::options_description Known() {
  po::options_description all("Options");
  const auto text = [] { return po::value<std::string>(); };
  all.add_options()("dir", text(), "the directory with the pages, such as a mount (required)")(
      "model", text(), "llama-8b (default), qwen3-32b, llama-70b, deepseek-v3: bytes per token and file names")(
      "page-tokens", text(), "tokens in a page (default 16)")(
      "scale", text(), "shrinks pages to this part of their real size, at most 1 (default 1)")(
      "clients", text(), "conversations side by side (default 4)")("rounds", text(),
                                                                   "turns of each conversation (default 3)")(
      "system-tokens", text(), "length of the prompt that all clients share (default 256)")(
      "input-tokens", text(), "new input of each turn (default 128)")(
      "output-tokens", text(), "output of each turn (default 64)")("seed", text(),
                                                                   "makes the token ids, and so the names (default 1)")(
      "trace", text(), "replays this Mooncake trace instead of generated conversations")(
      "requests", text(), "only the first requests of the trace")("page-bytes", text(),
                                                                  "size of a trace's block (default 64KiB)")(
      "processes", text(), "run: 2 = one writes, another reads (default); 1 = one does both")(
      "clean", "deletes the workload's pages at the end")("json", "prints the report as JSON")("help,h", "shows this");
  return all;
}

Result<WorkloadRole> ParseRole(const std::string& word) {
  if (word == "write") return WorkloadRole::kWrite;
  if (word == "read") return WorkloadRole::kRead;
  if (word == "run") return WorkloadRole::kRun;
  return Error(ErrorCode::kInvalid,
               fmt::format("'{}' is not one of write, read, run; see kvpagebench conversation --help", word));
}

Status ReadShape(const OptionReader& reader, ConversationShape& shape) {
  std::string model = "llama-8b";
  reader.Read("model", model);
  const Result<ModelPreset> preset = FindModel(model);
  if (!preset) return preset.error();
  shape.model = *preset;
  if (Status read = reader.Read("page-tokens", shape.page_tokens, {1, kMaxPageTokens}); !read) return read;
  if (Status read = reader.ReadFraction("scale", shape.scale); !read) return read;
  if (Status read = reader.Read("clients", shape.clients, {1, kMaxClients}); !read) return read;
  if (Status read = reader.Read("rounds", shape.rounds, {1, kMaxTokens}); !read) return read;
  if (Status read = reader.Read("system-tokens", shape.system_tokens, {0, kMaxTokens}); !read) return read;
  if (Status read = reader.Read("input-tokens", shape.input_tokens, {0, kMaxTokens}); !read) return read;
  if (Status read = reader.Read("output-tokens", shape.output_tokens, {0, kMaxTokens}); !read) return read;
  if (Status read = reader.Read("seed", shape.seed, {}); !read) return read;
  if (shape.system_tokens + shape.rounds * (shape.input_tokens + shape.output_tokens) < shape.page_tokens) {
    return Error(ErrorCode::kInvalid, "the conversations are shorter than one page: raise --input-tokens");
  }
  return {};
}

Status ReadTraceOptions(const OptionReader& reader, ConversationOptions& options) {
  if (!reader.Has("trace")) {
    for (const char* name : {"requests", "page-bytes"}) {
      if (reader.Has(name)) return Error(ErrorCode::kInvalid, fmt::format("--{} needs --trace", name));
    }
    return {};
  }
  for (const char* name :
       {"page-tokens", "scale", "clients", "rounds", "system-tokens", "input-tokens", "output-tokens", "seed"}) {
    if (reader.Has(name)) return Error(ErrorCode::kInvalid, fmt::format("--{} does not go with --trace", name));
  }
  options.trace.emplace();
  reader.Read("trace", *options.trace);
  if (Status read = reader.Read("requests", options.trace_requests, {1}); !read) return read;
  return reader.ReadSize("page-bytes", options.trace_page_bytes);
}

Status ReadRun(const OptionReader& reader, WorkloadRunOptions& run) {
  reader.Read("dir", run.directory);
  if (run.directory.empty()) return Error(ErrorCode::kInvalid, "--dir is missing: name the directory with the pages");
  if (Status directory = CheckDirectory(run.directory, "--dir"); !directory) return directory;
  uint64_t processes = 2;
  if (reader.Has("processes") && run.role != WorkloadRole::kRun) {
    return Error(ErrorCode::kInvalid, "--processes is for conversation run");
  }
  if (Status read = reader.Read("processes", processes, {1, 2}); !read) return read;
  run.reader_process = processes == 2;
  run.remove_pages = reader.Has("clean");
  return {};
}

}  // namespace

std::string ConversationHelp() {
  std::ostringstream text;
  text << "Usage: kvpagebench conversation write|read|run --dir DIR [OPTION]...\n\n"
          "  write  stores every page\n"
          "  read   looks up, loads and checks every request's pages, after a write with the same options\n"
          "  run    per request: looks up, loads and checks what is there, then stores the rest\n\n"
       << Known();
  return text.str();
}

Result<ConversationOptions> ParseConversationOptions(Arguments arguments) {
  ConversationOptions options;
  const bool has_role = !arguments.empty() && !arguments.front().starts_with('-');
  Result<OptionReader> reader =
      OptionReader::Parse(has_role ? arguments.subspan(1) : arguments, Known(), "kvpagebench conversation");
  if (!reader) return reader.error();
  options.help = reader->Has("help");
  if (options.help) return options;
  const Result<WorkloadRole> role = ParseRole(has_role ? arguments.front() : "");
  if (!role) return role.error();
  options.run.role = *role;
  options.json = reader->Has("json");
  if (Status read = ReadShape(*reader, options.shape); !read) return read.error();
  if (Status read = ReadTraceOptions(*reader, options); !read) return read.error();
  if (Status read = ReadRun(*reader, options.run); !read) return read.error();
  return options;
}

}  // namespace kvpagefs
