// A child process of a test, with pipes for its standard input and output. The destructor kills it
// and waits for it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace assay::support {

class Child {
 public:
  // Runs as user `uid` unless that is -1; changing the user requires root. Standard input is a pipe
  // that stays open until CloseInput or the destructor.
  // REQUIRES: the process has one thread, or no other thread holds a lock that the child needs
  // between fork and exec.
  explicit Child(const std::vector<std::string>& command, int uid = -1);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads the next line of the child's standard output, without the line end. Returns false at its
  // end.
  bool ReadLine(std::string* line);
  std::string ReadAll();

  void CloseInput();
  void Kill(int signal);
  int Wait();  // returns the exit status, or 128 + the signal that ended the child

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
};

}  // namespace assay::support
