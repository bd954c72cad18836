// The program that a benchmark measures: a coordinator process with its files in a temporary
// folder.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/bench/speed_client.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace assay::bench {

inline constexpr int kDevices = 16;  // per node, as in rank tables of version 1.0

inline std::string RankTable(const std::string& job, int nodes) {
  std::string servers;
  for (int n = 0; n < nodes; ++n) {
    const std::string host = std::to_string(n / 250) + "." + std::to_string(n % 250 + 1);
    std::string devices;
    for (int d = 0; d < kDevices; ++d) {
      devices += std::string(d == 0 ? "" : ",") + R"({"device_id":")" + std::to_string(d) +
                 R"(","device_ip":"172.)" + std::to_string(d + 16) + "." + host +
                 R"(","rank_id":")" + std::to_string(n * kDevices + d) + R"("})";
    }
    servers += std::string(n == 0 ? "" : ",") + R"({"server_id":"10.)" +
               std::to_string(nodes % 250) + "." + host + R"(","server_name":")" + job + "-" +
               std::to_string(n) + R"(","device":[)" + devices + "]}";
  }
  return R"({"status":"completed","version":"1.0","server_count":")" + std::to_string(nodes) +
         R"(","server_list":[)" + servers + "]}";
}

class RealProgram {
 public:
  explicit RealProgram(const std::string& binary)
      : binary_(binary),
        // /bin/sh only redirects standard error.
        child_({"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>" + (dir_ / "log"), binary,
                "--role=coordinator", "--listen=127.0.0.1:0", "--db=" + (dir_ / "assay.db"),
                "--port-file=" + (dir_ / "port"), "--reply-quiet=0s", "--agent-timeout=600s",
                "--log-level=warn"}) {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
    while (address_.empty()) {
      if (Clock::now() > end)
        Fail(binary + " did not write its port file within 30 s; its log:\n" + Log());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::ifstream(dir_ / "port") >> address_;
    }
  }

  void Apply(const std::string& job, int ranks) {
    const std::string file = dir_ / (job + ".json");
    std::ofstream(file) << RankTable(job, ranks / kDevices);
    support::Child apply(
        {binary_, "job", "apply", job, "--rank-table", file, "--coordinator", address_});
    const std::string said = apply.ReadAll();
    if (apply.Wait() != 0) Fail("job apply " + job + " failed: " + said);
  }
  const std::string& binary() const { return binary_; }
  const std::string& address() const { return address_; }
  pid_t pid() const { return child_.pid(); }
  std::string File(const std::string& name) const { return dir_ / name; }
  std::string db() const { return File("assay.db"); }
  std::string Log() const {
    std::ifstream log(dir_ / "log");
    return {std::istreambuf_iterator<char>(log), {}};
  }

 private:
  const std::string binary_;
  support::TempDir dir_;
  support::Child child_;
  std::string address_;
};

}  // namespace assay::bench
