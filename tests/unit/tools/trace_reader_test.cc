#include "tools/trace_reader.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kGood = R"({"timestamp": 5, "input_length": 1000, "output_length": 52, "hash_ids": [46, 47]})";

class ReadTraceTest : public ::testing::Test {
 protected:
  Result<std::vector<TraceRequest>> Read(const std::string& text, uint64_t max_requests = 1000) {
    std::ofstream(path_) << text;
    return ReadTrace(path_, max_requests);
  }
  void ExpectError(const std::string& text, const std::string& words) {
    const auto requests = Read(text);
    ASSERT_FALSE(requests.ok()) << text.substr(0, 200);
    EXPECT_EQ(requests.code(), ErrorCode::kInvalid);
    EXPECT_THAT(requests.error().text(), HasSubstr(words));
    EXPECT_THAT(requests.error().text(), HasSubstr(path_));
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/trace.jsonl";
};

TEST(ParseTraceLine, Fields) {
  const Result<TraceRequest> request = ParseTraceLine(kGood);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->timestamp_ms, 5u);
  EXPECT_EQ(request->input_tokens, 1000u);
  EXPECT_EQ(request->output_tokens, 52u);
  EXPECT_THAT(request->block_ids, ElementsAre(46, 47));
}

TEST_F(ReadTraceTest, LinesWithAndWithoutLastNewline) {
  const std::string line(kGood);
  EXPECT_EQ(Read(line + "\n" + line + "\n")->size(), 2u);
  EXPECT_EQ(Read(line + "\n" + line)->size(), 2u);
  EXPECT_EQ(Read(line + "\r\n\n" + line + "\n\n")->size(), 2u);
}

TEST_F(ReadTraceTest, StopsAtMaxRequestsBeforeBadLines) {
  EXPECT_EQ(Read(std::string(kGood) + "\nrubbish\n", 1)->size(), 1u);
}

TEST_F(ReadTraceTest, MalformedLinesAreNumbered) {
  const std::string good = std::string(kGood) + "\n";
  ExpectError(good + "rubbish\n", "line 2: is not JSON");
  ExpectError(good + "\n" + R"({"timestamp": 5,)" + "\n", "line 3: is not JSON");
  ExpectError("[1]\n", "line 1: is not a JSON object");
  ExpectError(R"({"timestamp": 5, "input_length": 1, "output_length": 1})", "'hash_ids' is missing");
  ExpectError(R"({"timestamp": 5, "output_length": 1, "hash_ids": []})", "'input_length' is missing");
  ExpectError(R"({"timestamp": -5, "input_length": 1, "output_length": 1, "hash_ids": []})", "'timestamp'");
  ExpectError(R"({"timestamp": 5, "input_length": "1", "output_length": 1, "hash_ids": []})", "'input_length'");
  ExpectError(R"({"timestamp": 5, "input_length": 1, "output_length": 1, "hash_ids": {}})", "not an array");
  ExpectError(R"({"timestamp": 5, "input_length": 1, "output_length": 1, "hash_ids": [1, -2]})", "has an entry");
  ExpectError(R"({"timestamp": 5, "input_length": 1, "output_length": 1, "hash_ids": [1.5]})", "has an entry");
}

TEST_F(ReadTraceTest, DeepNestingIsAnError) { ExpectError(std::string(100'000, '['), "line 1: is not JSON"); }

TEST_F(ReadTraceTest, LineLengthIsBounded) {
  const std::string good = std::string(kGood) + "\n";
  const std::string padding(kMaxTraceLineBytes - std::string(kGood).size(), ' ');
  EXPECT_EQ(Read(std::string(kGood) + padding + "\n")->size(), 1u);
  EXPECT_EQ(Read(std::string(kGood) + padding)->size(), 1u);
  ExpectError(good + std::string(kMaxTraceLineBytes + 1, 'x') + "\n", "line 2: longer than");
}

TEST_F(ReadTraceTest, EmptyFile) { ExpectError("\n\n", "has no requests"); }

TEST_F(ReadTraceTest, MissingFileAndDirectory) {
  const auto missing = ReadTrace(directory_.path() + "/none", 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().text(), ::testing::AllOf(HasSubstr("/none"), HasSubstr("No such file")));
  const auto folder = ReadTrace(directory_.path(), 1);
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().text(), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace kvpagefs
