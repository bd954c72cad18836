#include "tests/support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace assay::support {
namespace {

[[noreturn]] void Become(const std::vector<std::string>& command, int uid, int input, int output) {
  if (uid >= 0) {
    const auto id = static_cast<uid_t>(uid);
    if (setgid(static_cast<gid_t>(id)) != 0 || setuid(id) != 0) _exit(126);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0) _exit(126);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& command, int uid) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) Become(command, uid, in[0], out[1]);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  CloseInput();
  close(output_);
}

bool Child::ReadLine(std::string* line) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      *line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return true;
    }
    char bytes[4096];
    const ssize_t size = read(output_, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(size));
  }
}

std::string Child::ReadAll() {
  std::string all;
  for (std::string line; ReadLine(&line);) all += line + '\n';
  return all + buffer_;
}

void Child::CloseInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void Child::Kill(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

int Child::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace assay::support
