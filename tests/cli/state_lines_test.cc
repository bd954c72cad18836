// Lines of standard input and how `assay job status --stdin` parses them.
#include "cli/state_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

namespace assay::cli {
namespace {

class Pipe {
 public:
  Pipe() { REQUIRE(pipe2(fds_, O_CLOEXEC) == 0); }
  ~Pipe() {
    close(fds_[0]);
    Close();
  }
  int end() const { return fds_[0]; }
  void Write(const std::string& text) {
    REQUIRE(write(fds_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void Close() {
    if (fds_[1] >= 0) close(fds_[1]);
    fds_[1] = -1;
  }

 private:
  int fds_[2];
};

std::vector<Line> ReadNow(LineReader* reader) {
  std::vector<Line> lines;
  REQUIRE(reader->Read(0, &lines).ok());
  return lines;
}

StateLine Read(const std::string& text, std::int64_t number = 1) {
  const auto read = ReadStateLine(Line{number, text, false});
  REQUIRE(read.has_value());
  return *read;
}

TEST_CASE("lines are returned as they arrive, with any content") {
  Pipe pipe;
  LineReader reader(pipe.end(), 8);
  CHECK(ReadNow(&reader).empty());
  pipe.Write("one\n\ntw");
  auto lines = ReadNow(&reader);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].text == "one");
  CHECK(lines[1].text.empty());
  CHECK(lines[1].number == 2);
  pipe.Write(std::string("o\0x\n", 4) + "12345678\n123456789\nend");
  lines = ReadNow(&reader);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == std::string("two\0x", 5));
  CHECK_FALSE(lines[1].too_long);
  CHECK(lines[2].too_long);
  CHECK(lines[2].text == "12345678");
  CHECK_FALSE(reader.ended());
  pipe.Close();
  lines = ReadNow(&reader);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].text == "end");
  CHECK(lines[0].number == 6);
  CHECK(reader.ended());
  CHECK(ReadNow(&reader).empty());
}

TEST_CASE("a line without an end uses bounded memory") {
  Pipe pipe;
  LineReader reader(pipe.end(), 100);
  std::vector<Line> lines;
  for (int i = 0; i < 100; ++i) {
    pipe.Write(std::string(10'000, 'x'));
    REQUIRE(reader.Read(0, &lines).ok());
  }
  CHECK(lines.empty());
  pipe.Write("\nnext\n");
  REQUIRE(reader.Read(0, &lines).ok());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].too_long);
  CHECK(lines[0].text.size() == 100);
  CHECK(lines[1].text == "next");
  CHECK_FALSE(lines[1].too_long);
}

TEST_CASE("a directory cannot be read") {
  const int fd = open("/", O_RDONLY | O_CLOEXEC);
  LineReader reader(fd, 100);
  std::vector<Line> lines;
  const base::Status status = reader.Read(0, &lines);
  close(fd);
  REQUIRE_FALSE(status.ok());
  CHECK(status.text().find("directory") != std::string::npos);
}

TEST_CASE("a line names a job and its state") {
  CHECK(Read("a running").id == "a");
  CHECK(Read("a running").state == "running");
  CHECK(Read("\t a \t failed \r").id == "a");
  CHECK(Read("\t a \t failed \r").state == "failed");
  CHECK(Read("my job complete").id == "my job");
  CHECK(Read("\xEF\xBB\xBF"
             "a running")
            .id == "a");
  for (const std::string nothing : {"", "  \t", "# a running", "   #", "#", "\r"}) {
    CHECK_FALSE(ReadStateLine(Line{1, nothing, false}).has_value());
  }
}

TEST_CASE("the problem of an invalid line is reported") {
  CHECK(Read("a").problem == "expected ID STATE, found only \"a\"");
  CHECK(Read("a runing").problem.find("did you mean running?") != std::string::npos);
  CHECK(Read(std::string(300, 'x') + " running").problem.find("256") != std::string::npos);
  CHECK(Read(std::string("a\0b running", 11)).problem.find("control") != std::string::npos);
  CHECK(Read("\xff running").problem.find("UTF-8") != std::string::npos);
  const auto cut = ReadStateLine(Line{1, "a running", true});
  REQUIRE(cut.has_value());
  CHECK(cut->problem == "longer than 4096 bytes");
}

TEST_CASE("any bytes result in a line or a problem") {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto size = random() % 40; size != 0; --size) {
      text += random() % 3 == 0 ? " \t#\0arunig"[random() % 10] : static_cast<char>(random() % 256);
    }
    const auto read = ReadStateLine(Line{1, text, false});
    if (!read.has_value() || !read->problem.empty()) continue;
    CHECK_FALSE(read->id.empty());
    CHECK_FALSE(read->state.empty());
  }
}

}  // namespace
}  // namespace assay::cli
