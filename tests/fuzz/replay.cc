// Runs a fuzz target without libFuzzer, for other compilers. Usage: replay FOLDER COUNT.
//
// Feeds the target each file of FOLDER, then COUNT random mutations of these files, the same on
// every run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void Feed(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& files) : files_(files) {}

  std::string Next() {
    std::string text = files_[Below(files_.size())];
    for (std::size_t edits = 1 + Below(5); edits > 0 && !text.empty(); --edits) Edit(&text);
    return text;
  }

 private:
  std::size_t Below(std::size_t bound) { return random_() % bound; }

  void Edit(std::string* text) {
    const std::size_t at = Below(text->size());
    const std::size_t length = 1 + Below(60);
    const std::string& other = files_[Below(files_.size())];
    switch (Below(6)) {
      case 0:
        (*text)[at] = static_cast<char>(Below(256));
        break;
      case 1:
        text->erase(at, length);
        break;
      case 2:
        text->insert(at, text->substr(Below(text->size()), length));
        break;
      case 3:
        text->resize(at);
        break;
      case 4:
        if (!other.empty()) text->insert(at, other.substr(Below(other.size()), length));
        break;
      default:
        // Replaces a whole value: the text stays valid JSON more often than after byte edits.
        static constexpr const char* kTokens[] = {"\"0\"", "7",    "null", "[]",  "{}",
                                                  "\"\"",  "true", "-1",   "1e9", "\"\\u0041\""};
        const std::size_t colon = text->find(':', at);
        if (colon == std::string::npos) break;
        const std::size_t end = std::min(text->find_first_of(",}]", colon), text->size());
        text->replace(colon + 1, end - colon - 1, kTokens[Below(std::size(kTokens))]);
    }
  }

  const std::vector<std::string>& files_;
  std::mt19937 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER COUNT\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // for the same mutations on every machine
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    Feed(files.back());
  }
  if (files.empty()) {
    std::fprintf(stderr, "no files in %s\n", argv[1]);
    return 2;
  }
  const long count = std::strtol(argv[2], nullptr, 10);
  Mutator mutator(files);
  for (long i = 0; i < count; ++i) Feed(mutator.Next());
  std::printf("%zu files and %ld mutations\n", files.size(), count);
  return 0;
}
