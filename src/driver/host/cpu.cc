#include "driver/host/cpu.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace assay::driver::host {
namespace {

constexpr int kCpusMax = 1 << 16;

// A cpu_set_t of any size: some machines have more than 1024 processors.
class CpuSet {
 public:
  explicit CpuSet(int cpus)
      : bytes_(CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus))),
        words_((bytes_ + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t)) {
    CPU_ZERO_S(bytes_, words_.data());
  }
  cpu_set_t* data() { return words_.data(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<cpu_set_t> words_;
};

// Returns 0 or an errno value.
int PinThisThread(int core) {
  CpuSet set(core + 1);
  CPU_SET_S(static_cast<std::size_t>(core), set.bytes(), set.data());
  return pthread_setaffinity_np(pthread_self(), set.bytes(), set.data());
}

std::chrono::nanoseconds ReadClock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

base::Result<std::vector<int>> AllowedCores() {
  // The call fails with EINVAL if the set is smaller than the kernel's.
  for (int cpus = 1024; cpus <= kCpusMax; cpus *= 2) {
    CpuSet set(cpus);
    if (sched_getaffinity(0, set.bytes(), set.data()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cores;
    for (int core = 0; core < cpus; ++core) {
      if (CPU_ISSET_S(static_cast<std::size_t>(core), set.bytes(), set.data())) {
        cores.push_back(core);
      }
    }
    return cores;
  }
  return base::InternalError(std::string("cannot read this process's CPU affinity: ") +
                             std::strerror(errno));
}

std::vector<std::vector<int>> SplitCores(const std::vector<int>& cores, std::int32_t parts) {
  const auto count = static_cast<std::size_t>(parts);
  std::vector<std::vector<int>> split(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (count > cores.size()) {
      split[i] = {cores[i % cores.size()]};
      continue;
    }
    const std::size_t begin = i * cores.size() / count;
    const std::size_t end = (i + 1) * cores.size() / count;
    for (std::size_t k = begin; k < end; ++k) split[i].push_back(cores[k]);
  }
  return split;
}

std::string CoresText(const std::vector<int>& cores) {
  std::string out;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(cores[i]);
    if (last > i) out += '-' + std::to_string(cores[last]);
    i = last + 1;
  }
  return out;
}

std::string CpuName() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

WorkTime::WorkTime()
    : monotonic_(ReadClock(CLOCK_MONOTONIC)),
      processor_(ReadClock(CLOCK_THREAD_CPUTIME_ID)),
      begin_(ReadClock(CLOCK_BOOTTIME)) {}

void WorkTime::Lap() {
  const auto monotonic = ReadClock(CLOCK_MONOTONIC);
  const auto processor = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  const auto ran = processor - processor_;
  const auto waited = monotonic - monotonic_ - ran;
  worked_ +=
      ran + std::clamp<std::chrono::nanoseconds>(waited, std::chrono::nanoseconds(0), kWaitMax);
  monotonic_ = monotonic;
  processor_ = processor;
  passed_ = ReadClock(CLOCK_BOOTTIME) - begin_;
}

std::string TimeText(std::chrono::nanoseconds worked, std::chrono::nanoseconds passed) {
  // Less than this is scheduling.
  constexpr auto kShown = std::chrono::milliseconds(500);
  char text[80];
  const double seconds = std::chrono::duration<double>(worked).count();
  if (passed - worked < kShown) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else {
    std::snprintf(text, sizeof text, "%.1f s (%.1f s passed)", seconds,
                  std::chrono::duration<double>(passed).count());
  }
  return text;
}

base::Status RunOnCores(const std::vector<int>& cores, std::chrono::milliseconds duration,
                        std::string_view text, Progress* progress,
                        const std::function<void(std::size_t, WorkClock*)>& work) {
  constexpr auto kLook = std::chrono::milliseconds(5);
  std::atomic<std::int64_t> worked = 0;
  std::atomic<std::size_t> ended = 0;
  // Each thread writes only its own element; they are read after the join.
  std::vector<int> pin_errors(cores.size(), 0);
  std::vector<std::thread> threads;
  base::Status status;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const auto body = [&, i] {
      pin_errors[i] = PinThisThread(cores[i]);
      if (pin_errors[i] == 0) {
        WorkClock clock(duration, &worked);
        work(i, &clock);
      }
      ended.fetch_add(1, std::memory_order_relaxed);
    };
    std::thread thread;
    const base::Status started = base::StartThread(&thread, "core " + std::to_string(cores[i]),
                                                   "core-" + std::to_string(cores[i]), body);
    if (!started.ok()) {
      if (!status.ok()) continue;
      status = base::ExhaustedError(started.text());
    }
    threads.push_back(std::move(thread));
  }
  while (ended.load(std::memory_order_relaxed) < threads.size()) {
    std::this_thread::sleep_for(kLook);
    if (progress == nullptr) continue;
    const std::int64_t percent =
        100 * worked.load(std::memory_order_relaxed) / std::chrono::nanoseconds(duration).count();
    progress->Report(static_cast<std::int32_t>(std::min<std::int64_t>(percent, 99)), text);
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < cores.size() && status.ok(); ++i) {
    if (pin_errors[i] == 0) continue;
    status = base::UnavailableError("cannot run on core " + std::to_string(cores[i]) + ": " +
                                    std::strerror(pin_errors[i]));
  }
  return status;
}

}  // namespace assay::driver::host
