// A child process of a test: its output by lines, its end. Killed when it goes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace assay {

class Child {
 public:
  // As user `uid` when that is not -1 (only root can); standard input is a pipe that closes with
  // the Child or by CloseInput. REQUIRES: one thread, or no lock that the child needs.
  explicit Child(const std::vector<std::string>& command, int uid = -1);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line of its standard output without the line end; false: it closed it.
  bool ReadLine(std::string* line);
  std::string ReadAll();

  void CloseInput();
  void Kill(int signal);
  int Wait();  // its exit status, or 128 + the signal that ended it

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
};

}  // namespace assay
