// Measures a burst of job signals: 64 subscribers and 20,000 changes of 200 jobs, as fast as
// `assay job status --stdin` submits them, until every subscriber has the exact final state of
// every job. The ceiling, measured in turns, is a bare gRPC callback server, also a process of its
// own, that writes messages of the same size one after the other to as many streams. Then measures
// the same with one more subscriber that does not read for 30 s.
//
// usage: signals_bench ASSAY_BINARY    (files go to TMPDIR)
//        signals_bench --serve TIMES BYTES   the bare server, which the first form starts
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/bare_signals.h"
#include "tests/bench/real_program.h"
#include "tests/bench/speed_client.h"
#include "tests/support/child.h"

using namespace assay::bench;
using namespace assay::support;

namespace {

constexpr int kTurns = 3;  // figures are medians of these
constexpr int kSubscribers = 64;
constexpr int kJobs = 200;
constexpr int kChanges = 20'000;
constexpr auto kPause = std::chrono::seconds(30);
constexpr auto kQuiet = std::chrono::milliseconds(300);  // a burst has ended after this silence
const std::string kRegister = "/job.Job/Register";
const std::string kSubscribe = "/job.Job/SubscribeJobSummarySignal";
const char* const kStates[] = {"pending", "running", "complete", "failed"};

using States = std::map<std::string, std::string>;  // job -> state

std::string JobNamed(int number) { return "job-" + std::to_string(number); }

double RssMib(pid_t pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// A subscriber: the newest state of each job it has received, and when the last message arrived.
class Follower final : public CountedStream {
 public:
  Follower(Group* group, bool paused) : CountedStream(group), paused_(paused) {}

  // REQUIRES: created paused, and a message has arrived since.
  void EndPause() {
    paused_ = false;
    ReadOn();
  }
  bool Knows(const States& states) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [job, state] : states) {
      const auto found = states_.find(job);
      if (found == states_.end() || found->second != state) return false;
    }
    return true;
  }
  int Messages() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return messages_;
  }
  Clock::time_point Last() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return last_;
  }

 private:
  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) group_->opened.Add(1);
  }
  bool Reads() override { return !paused_; }
  void Came(const ByteBuffer& bytes) override {
    const auto signal = Parsed<job::JobSummarySignal>(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    states_[signal.jobid()] = signal.operator_() == "delete" ? "deleted" : signal.jobstatus();
    ++messages_;
    last_ = Clock::now();
  }

  std::atomic<bool> paused_;
  std::mutex mutex_;
  States states_;
  int messages_ = 0;
  Clock::time_point last_;
};

class Followers {
 public:
  explicit Followers(const std::string& address) : address_(address) {}
  ~Followers() {
    for (const auto& follower : followers_) follower->Cancel();
    group_.ended.Wait(static_cast<int>(followers_.size()), "ends of streams");
  }

  Follower* Add(bool paused) {
    stubs_.push_back(std::make_unique<grpc::GenericStub>(Connect(address_)));
    followers_.push_back(std::make_unique<Follower>(&group_, paused));
    job::ClientInfo info;
    info.set_role("CCAgent");
    info.set_clientid(Registered(stubs_.back().get()));
    followers_.back()->Start(stubs_.back().get(), kSubscribe, BytesOf(info));
    group_.opened.Wait(1, "a subscriber");
    return followers_.back().get();
  }
  // Waits until every follower except `but` has `states` and no message has arrived for kQuiet.
  // Returns the time of the last message.
  Clock::time_point AwaitAll(const States& states, const Follower* but) {
    const Clock::time_point end = Clock::now() + kPatience;
    for (;;) {
      bool all = true;
      Clock::time_point last{};
      for (const auto& follower : followers_) {
        if (follower.get() == but) continue;
        all = all && follower->Knows(states);
        last = std::max(last, follower->Last());
      }
      if (all && Clock::now() - last > kQuiet) return last;
      if (Clock::now() > end) Fail("not all subscribers received the final states within 120 s");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::int64_t Messages(const Follower* but) {
    std::int64_t messages = 0;
    for (const auto& follower : followers_) {
      if (follower.get() != but) messages += follower->Messages();
    }
    return messages;
  }

 private:
  static std::string Registered(grpc::GenericStub* stub) {
    grpc::ClientContext context;
    job::ClientInfo info;
    info.set_role("CCAgent");
    const ByteBuffer request = BytesOf(info);
    ByteBuffer response;
    grpc::Status status;
    Counter answered;
    stub->UnaryCall(&context, kRegister, grpc::StubOptions(), &request, &response,
                    [&](grpc::Status s) {
                      status = std::move(s);
                      answered.Add(1);
                    });
    answered.Wait(1, "Register");
    if (!status.ok()) Fail("Register: " + status.error_message());
    return Parsed<job::Status>(response).clientid();
  }

  const std::string address_;
  Group group_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<std::unique_ptr<Follower>> followers_;
};

struct Figures {
  double given_ms = 0;  // until `job status --stdin` had its last answer
  double known_ms = 0;  // until the last subscriber had the last state
  double messages = 0;
  double per_second = 0;
  double cpu_us = 0;  // processor time of the server per message
};

// A burst of job state changes. Every line is a change: a job's next state always differs from its
// present one.
class Burst {
 public:
  explicit Burst(RealProgram* real) : real_(*real) {
    for (int i = 0; i < kJobs; ++i) real_.Apply(JobNamed(i), kDevices);
  }

  States Prepare() {
    std::ofstream lines(real_.File("lines"));
    States final;
    for (int i = 0; i < kChanges; ++i) {
      const int job = static_cast<int>(random_() % kJobs);
      int& at = at_.try_emplace(job, 1).first->second;
      at = (at + 1 + static_cast<int>(random_() % 3)) % 4;
      lines << JobNamed(job) << ' ' << kStates[at] << '\n';
      final[JobNamed(job)] = kStates[at];
    }
    return final;
  }
  void Run() const {
    Child child({"/bin/sh", "-c", "exec \"$0\" job status --stdin --coordinator=\"$1\" < \"$2\"",
                 real_.binary(), real_.address(), real_.File("lines")});
    const std::string said = child.ReadAll();
    if (child.Wait() != 0) Fail("job status --stdin failed: " + said);
  }

 private:
  RealProgram& real_;
  std::mt19937 random_{1};
  std::map<int, int> at_;  // job -> index in kStates; jobs start as running
};

Figures Turn(RealProgram* real, Burst* burst, Followers* followers, const Follower* but) {
  const States final = burst->Prepare();
  const std::int64_t before = followers->Messages(but);
  const double cpu = CpuMs(real->pid());
  const Clock::time_point begin = Clock::now();
  burst->Run();
  const Clock::time_point given = Clock::now();
  const Clock::time_point last = followers->AwaitAll(final, but);
  Figures figures;
  figures.given_ms = Ms(given - begin);
  figures.known_ms = Ms(std::max(last, begin) - begin);
  figures.messages = static_cast<double>(followers->Messages(but) - before);
  figures.per_second = figures.messages / figures.known_ms * 1e3;
  figures.cpu_us = (CpuMs(real->pid()) - cpu) / figures.messages * 1e3;
  return figures;
}

// A subscriber of the bare server; only counts messages.
class BareFollower final : public CountedStream {
 public:
  using CountedStream::CountedStream;

 private:
  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) group_->opened.Add(1);
  }
  void Came(const ByteBuffer& bytes) override {
    // Parsed because Follower parses each message too: equal cost for the client.
    if (Parsed<job::JobSummarySignal>(bytes).jobid().empty())
      group_->came.Broke("a signal has no job id");
    group_->came.Add(1, bytes.Length());
  }
};

Figures Bare(const std::string& self, int times, std::size_t table_bytes) {
  Child server({self, "--serve", std::to_string(times), std::to_string(table_bytes)});
  std::string address;
  if (!server.ReadLine(&address)) Fail("the bare server did not print its address");
  Group group;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  std::vector<std::unique_ptr<BareFollower>> followers;
  for (int i = 0; i < kSubscribers; ++i) {
    stubs.push_back(std::make_unique<grpc::GenericStub>(Connect(address)));
    followers.push_back(std::make_unique<BareFollower>(&group));
    followers.back()->Start(stubs.back().get(), kSubscribe, BytesOf(job::ClientInfo()));
  }
  group.opened.Wait(kSubscribers, "subscribers of the bare server");
  const double cpu = CpuMs(server.pid());
  const Clock::time_point begin = Clock::now();
  const ByteBuffer request = BytesOf(job::ClientInfo());
  ByteBuffer response;
  grpc::ClientContext context;
  grpc::GenericStub caller(Connect(address));
  Counter answered;
  caller.UnaryCall(&context, kRegister, grpc::StubOptions(), &request, &response,
                   [&](const grpc::Status&) { answered.Add(1); });
  answered.Wait(1, "Register");
  const Clock::time_point last = group.came.Wait(kSubscribers * times, "messages");
  Figures figures;
  figures.known_ms = Ms(last - begin);
  figures.messages = kSubscribers * times;
  figures.per_second = figures.messages / figures.known_ms * 1e3;
  figures.cpu_us = (CpuMs(server.pid()) - cpu) / figures.messages * 1e3;
  for (const auto& follower : followers) follower->Cancel();
  group.ended.Wait(kSubscribers, "ends of streams");
  return figures;
}

Figures Middle(const std::vector<Figures>& turns) {
  const auto middle = [&](double Figures::*field) {
    std::vector<double> values;
    for (const Figures& turn : turns) values.push_back(turn.*field);
    return Median(values);
  };
  return {middle(&Figures::given_ms), middle(&Figures::known_ms), middle(&Figures::messages),
          middle(&Figures::per_second), middle(&Figures::cpu_us)};
}

void Row(const char* what, const char* unit, double one, double other) {
  std::printf("  %-52s %11.1f %11.1f %7.2f  %s\n", what, one, other, one / other, unit);
}

void Heading(const char* one, const char* other) {
  std::printf("  %-52s %11s %11s %7s\n", "", one, other, "ratio");
}

int Bench(const std::string& self, const std::string& binary) {
  RealProgram real(binary);
  Burst burst(&real);
  Followers followers(real.address());
  for (int i = 0; i < kSubscribers; ++i) followers.Add(false);
  const double rss_before = RssMib(real.pid());
  std::vector<Figures> alone;
  std::vector<Figures> bare;
  for (int turn = 0; turn < kTurns; ++turn) {
    alone.push_back(Turn(&real, &burst, &followers, nullptr));
    const int times = static_cast<int>(alone.back().messages) / kSubscribers;
    bare.push_back(Bare(self, times, RankTable(JobNamed(100), 1).size()));
  }
  std::this_thread::sleep_for(std::chrono::seconds(10));
  const double rss_after = RssMib(real.pid());

  const Figures one = Middle(alone);
  const Figures ceiling = Middle(bare);
  std::printf("\n%d changes of %d jobs in a burst, %d subscribers on %d connections\n", kChanges,
              kJobs, kSubscribers, kSubscribers);
  Heading("assay", "bare gRPC");
  std::printf("  %-52s %11.1f %11s %7s  ms\n", "changes submitted and acknowledged", one.given_ms,
              "", "");
  Row("first change to last subscriber with the last state", "ms", one.known_ms, ceiling.known_ms);
  Row("messages delivered", "", one.messages, ceiling.messages);
  Row("messages a second", "/s", one.per_second, ceiling.per_second);
  Row("server's processor time for a message", "us", one.cpu_us, ceiling.cpu_us);
  std::printf("  coordinator's memory: %.1f MiB before, %.1f MiB 10 s after\n", rss_before,
              rss_after);

  Follower* const paused = followers.Add(true);
  const Clock::time_point pause = Clock::now();
  std::vector<Figures> beside;
  for (int turn = 0; turn < kTurns; ++turn) {
    beside.push_back(Turn(&real, &burst, &followers, paused));
  }
  const Figures two = Middle(beside);
  std::printf("\nthe same beside a subscriber that does not read for 30 s\n");
  Heading("with it", "without");
  Row("changes submitted and acknowledged", "ms", two.given_ms, one.given_ms);
  Row("first change to last other with the last state", "ms", two.known_ms, one.known_ms);
  Row("server's processor time for a message", "us", two.cpu_us, one.cpu_us);
  std::this_thread::sleep_until(pause + kPause);
  const States final = burst.Prepare();
  burst.Run();
  const Clock::time_point goes_on = Clock::now();
  paused->EndPause();
  const Clock::time_point last = followers.AwaitAll(final, nullptr);
  std::printf("  it resumes after 30 s, %d changes behind: %.1f ms, %d messages to catch up\n",
              (kTurns + 1) * kChanges, Ms(std::max(last, goes_on) - goes_on), paused->Messages());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string first = argc > 1 ? argv[1] : "";
    if (argc == 4 && first == "--serve") {
      return ServeSignals(std::stoi(argv[2]), static_cast<std::size_t>(std::stoul(argv[3])));
    }
    if (argc == 2 && first != "--help") return Bench("/proc/self/exe", first);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "signals_bench: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: signals_bench ASSAY_BINARY\n");
  return 2;
}
