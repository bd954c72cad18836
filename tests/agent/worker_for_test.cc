// A program that is only a worker process: `assay worker` without the rest of assay.
//   worker_for_test worker --in=N --out=N
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/worker_main.h"

namespace {

int Value(const char* arg, const char* flag) {
  const std::size_t length = std::strlen(flag);
  return std::strncmp(arg, flag, length) == 0 ? std::atoi(arg + length) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[1], "worker") != 0) {
    std::fprintf(stderr, "usage: %s worker --in=N --out=N\n", argv[0]);
    return 64;
  }
  return assay::driver::RunWorker(Value(argv[2], "--in="), Value(argv[3], "--out="));
}
