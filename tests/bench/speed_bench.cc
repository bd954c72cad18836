// Measures the coordinator's speed, in turns with a ceiling for each figure:
//
//   fan-out   a notification to 64 subscribers of one job. Ceiling: a bare gRPC callback server,
//             also a process of its own, that writes one pre-serialised message of the same bytes
//   outcomes  20,000 outcomes of 625 agents, all sent at once, until the last one is acknowledged.
//             Ceiling: the same rows through bare SQLite, in several batch sizes
//
// usage: speed_bench ASSAY_BINARY    files go to TMPDIR; use a folder on a real disk, because a RAM
//                                    disk does not show the cost of syncing
//        speed_bench --serve RANKS   the bare server, which the first form starts
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/open_files.h"
#include "fleet.pb.h"
#include "tests/bench/bare_server.h"
#include "tests/bench/real_program.h"
#include "tests/bench/speed_client.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

using namespace assay;
using namespace assay::bench;
using namespace assay::support;

namespace {

constexpr int kTurns = 3;  // figures are medians of these
constexpr int kSubscribers = 64;
constexpr int kConnections[] = {8, 64};  // shared by the subscribers
constexpr int kSmallRanks = 16;
constexpr int kLargeRanks = 1024;
constexpr int kSmallRounds = 100;
constexpr int kLargeRounds = 30;
constexpr int kAgents = 625;
constexpr int kOutcomes = kAgents * kDevices * 2;
constexpr int kRowsPerBatch[] = {256, 1000, 8192};
const std::string kDetail = "matrix products exact, 22.5 GFLOP/s, 1200 rounds, 0 mismatches";
const std::string kStressTest = "/Recover/StressTest";
const std::string kReply = "/Recover/ReplyStressTestResult";
const std::string kSubscribe = "/Recover/SubscribeNotifyExecStressTest";
const std::string kAttach = "/assay.fleet.Fleet/Attach";

// --- Fan-out ---

class Subscriber final : public CountedStream {
 public:
  using CountedStream::CountedStream;

 private:
  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) group_->opened.Add(1);
  }
  void Came(const ByteBuffer& message) override { group_->came.Add(1, message.Length()); }
};

struct FanoutFigures {
  double call_ms = 0;     // from the call to the last delivery
  double answer_ms = 0;   // from the call's answer to the last delivery
  double per_second = 0;  // messages in the time of whole rounds, with calls and replies
  double cpu_ms = 0;      // of the server, from the call to the last delivery
};

class FanoutBed {
 public:
  FanoutBed(const std::string& address, pid_t server, int ranks, int connections)
      : server_(server),
        ranks_(ranks),
        rounds_(ranks == kSmallRanks ? kSmallRounds : kLargeRounds),
        caller_(Connect(address)) {
    ClientInfo info;
    info.set_jobid(JobOf(ranks));
    info.set_role("taskd");
    for (int i = 0; i < connections; ++i) {
      stubs_.push_back(std::make_unique<grpc::GenericStub>(Connect(address)));
    }
    for (int i = 0; i < kSubscribers; ++i) {
      streams_.push_back(std::make_unique<Subscriber>(&group_));
      streams_.back()->Start(stubs_[static_cast<std::size_t>(i % connections)].get(), kSubscribe,
                             BytesOf(info));
    }
    try {
      group_.opened.Wait(kSubscribers, "subscribers");
    } catch (...) {
      End();
      throw;
    }
    SetRequests();
  }
  ~FanoutBed() { End(); }

  FanoutFigures Turn() {
    std::vector<double> call;
    std::vector<double> answer;
    double cpu = 0;
    Round(nullptr);  // warms up
    const std::size_t bytes = group_.came.bytes();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < rounds_; ++i) {
      const double before = CpuMs(server_);
      double after = 0;
      const auto [to_answer, to_last] = Round(&after);
      call.push_back(to_last);
      answer.push_back(to_last - to_answer);
      cpu += after - before;
    }
    const double all = Ms(Clock::now() - begin);
    const std::size_t expected = Notification(JobOf(ranks_), ranks_).ByteSizeLong();
    if (group_.came.bytes() - bytes !=
        expected * static_cast<std::size_t>(kSubscribers * rounds_)) {
      Fail("the notifications' total size differs from the bare server's");
    }
    return {Median(call), Median(answer), kSubscribers * rounds_ / all * 1e3, cpu / rounds_};
  }

 private:
  void SetRequests() {
    StressTestParam param;
    param.set_jobid(JobOf(ranks_));
    param.add_allnodesops(0);
    param.add_allnodesops(1);
    stress_ = BytesOf(param);
    StressTestResult result;
    result.set_jobid(JobOf(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) {
      auto& ops = *(*result.mutable_stressresult())[std::to_string(rank)].mutable_rankresult();
      for (const char* op : {"0", "1"}) {
        ops[op].set_code("0");
        ops[op].set_result("OK");
      }
    }
    reply_ = BytesOf(result);
  }
  // Returns ms to the answer and ms to the last delivery.
  std::pair<double, double> Round(double* cpu_after) {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point answered = Call(&caller_, kStressTest, stress_);
    const Clock::time_point last = group_.came.Wait(kSubscribers, "notifications");
    if (cpu_after != nullptr) *cpu_after = CpuMs(server_);
    Call(&caller_, kReply, reply_);
    return {Ms(answered - begin), Ms(last - begin)};
  }
  void End() {
    for (const auto& stream : streams_) stream->Cancel();
    group_.ended.Wait(static_cast<int>(streams_.size()), "ends of streams");
  }

  const pid_t server_;
  const int ranks_;
  const int rounds_;
  Group group_;
  grpc::GenericStub caller_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<std::unique_ptr<Subscriber>> streams_;
  ByteBuffer stress_;
  ByteBuffer reply_;
};

// --- Outcomes ---

// An agent that prepares the outcomes of its ranks at Assign and sends them at SayOutcomes.
class FakeAgent final : public CountedStream {
 public:
  using CountedStream::CountedStream;

  static ByteBuffer Hello(const std::string& node) {
    fleet::AgentMessage message;
    fleet::Hello& hello = *message.mutable_hello();
    hello.set_protocol(1);
    hello.set_node(node);
    hello.set_identity("identity-of-" + node);
    hello.set_version("1");
    hello.set_host_name(node);
    hello.set_driver("sim");
    for (int i = 0; i < kDevices; ++i) {
      fleet::Device& device = *hello.add_devices();
      device.set_index(i);
      device.set_kind("sim");
    }
    return BytesOf(message);
  }
  // REQUIRES: Start has arrived; call it once per run.
  void SayOutcomes() { StartWrite(&outcomes_); }

 private:
  void Came(const ByteBuffer& bytes) override {
    const auto message = Parsed<fleet::CoordinatorMessage>(bytes);
    if (message.has_welcome() || message.has_start()) {
      group_->opened.Add(1);
    } else if (message.has_assign()) {
      Prepare(message.assign());
      StartWrite(&ready_);
    } else if (message.has_ack()) {
      group_->came.Add(message.ack().keys_size());
    }
  }
  void Prepare(const fleet::Assign& assign) {
    fleet::AgentMessage ready;
    ready.mutable_ready()->set_run(assign.run());
    ready_ = BytesOf(ready);
    fleet::AgentMessage said;
    for (const fleet::AssignedRank& rank : assign.ranks()) {
      for (const int op : {0, 1}) {
        fleet::Outcome& outcome = *said.mutable_outcomes()->add_outcomes();
        outcome.set_run(assign.run());
        outcome.set_rank(rank.rank());
        outcome.set_op(op);
        outcome.set_detail(kDetail);
        outcome.set_started_ago_ms(200'000);
        outcome.set_finished_ago_ms(1);
      }
    }
    outcomes_ = BytesOf(said);
  }

  // Each write follows the answer to the previous one, so at most one write is under way.
  ByteBuffer ready_;
  ByteBuffer outcomes_;
};

struct OutcomeFigures {
  double wall_ms = 0;  // from the first outcome sent to the last acknowledgement
  double cpu_ms = 0;   // processor time of the coordinator, or of bare SQLite, in that time
};

class OutcomeBed {
 public:
  OutcomeBed(const std::string& address, pid_t server, const std::string& job)
      : server_(server), caller_(Connect(address)) {
    StressTestParam param;
    param.set_jobid(job);
    param.add_allnodesops(0);
    param.add_allnodesops(1);
    stress_ = BytesOf(param);
    for (int i = 0; i < kAgents; ++i) {
      stubs_.push_back(std::make_unique<grpc::GenericStub>(Connect(address)));
      agents_.push_back(std::make_unique<FakeAgent>(&group_));
      agents_.back()->Start(stubs_.back().get(), kAttach,
                            FakeAgent::Hello(job + "-" + std::to_string(i)));
    }
    try {
      group_.opened.Wait(kAgents, "agents");
    } catch (...) {
      End();
      throw;
    }
  }
  ~OutcomeBed() { End(); }

  OutcomeFigures Turn() {
    Call(&caller_, kStressTest, stress_);
    group_.opened.Wait(kAgents, "starts");
    const double cpu = CpuMs(server_);
    const Clock::time_point begin = Clock::now();
    for (const auto& agent : agents_) agent->SayOutcomes();
    const Clock::time_point last = group_.came.Wait(kOutcomes, "acknowledged outcomes");
    return {Ms(last - begin), CpuMs(server_) - cpu};
  }

 private:
  void End() {
    for (const auto& agent : agents_) agent->Cancel();
    group_.ended.Wait(static_cast<int>(agents_.size()), "ends of agents' streams");
  }

  const pid_t server_;
  grpc::GenericStub caller_;
  Group group_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<std::unique_ptr<FakeAgent>> agents_;
  ByteBuffer stress_;
};

// The ceiling: one table with the same columns and key, and one prepared statement. Checkpoints are
// not measured, like the coordinator's.
class BareSqlite {
 public:
  explicit BareSqlite(const std::string& file) {
    Check(sqlite3_open(file.c_str(), &database_));
    Exec(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32768;"
        "PRAGMA wal_autocheckpoint=0;"
        "CREATE TABLE outcomes (run INTEGER, rank INTEGER, op INTEGER, code INTEGER,"
        " started INTEGER, finished INTEGER, detail TEXT, PRIMARY KEY (run, rank, op))"
        " WITHOUT ROWID");
    Check(sqlite3_prepare_v2(database_, "INSERT INTO outcomes VALUES (?, ?, ?, 0, ?, ?, ?)", -1,
                             &insert_, nullptr));
  }
  ~BareSqlite() {
    sqlite3_finalize(insert_);
    sqlite3_close(database_);
  }
  BareSqlite(const BareSqlite&) = delete;
  BareSqlite& operator=(const BareSqlite&) = delete;

  OutcomeFigures Turn(int rows_per_batch) {
    ++run_;
    const auto cpu = CpuMs(getpid());
    const Clock::time_point begin = Clock::now();
    for (int row = 0; row < kOutcomes; ++row) {
      if (row % rows_per_batch == 0) Exec("BEGIN IMMEDIATE");
      Insert(row);
      if (row % rows_per_batch == rows_per_batch - 1 || row == kOutcomes - 1) Exec("COMMIT");
    }
    const OutcomeFigures figures{Ms(Clock::now() - begin), CpuMs(getpid()) - cpu};
    sqlite3_wal_checkpoint_v2(database_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    return figures;
  }

 private:
  void Insert(int row) {
    sqlite3_bind_int64(insert_, 1, run_);
    sqlite3_bind_int64(insert_, 2, row / 2);
    sqlite3_bind_int64(insert_, 3, row % 2);
    sqlite3_bind_int64(insert_, 4, 1'700'000'000'000 + row);
    sqlite3_bind_int64(insert_, 5, 1'700'000'200'000 + row);
    sqlite3_bind_text(insert_, 6, kDetail.data(), static_cast<int>(kDetail.size()), SQLITE_STATIC);
    if (sqlite3_step(insert_) != SQLITE_DONE) Fail(sqlite3_errmsg(database_));
    sqlite3_reset(insert_);
  }
  void Check(int code) {
    if (code != SQLITE_OK) Fail(sqlite3_errmsg(database_));
  }
  void Exec(const char* sql) { Check(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr)); }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  int run_ = 0;
};

std::int64_t StoredOutcomes(const std::string& file) {
  sqlite3* database = nullptr;
  sqlite3_stmt* count = nullptr;
  std::int64_t rows = -1;
  if (sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
      sqlite3_prepare_v2(database, "SELECT count(*) FROM outcomes", -1, &count, nullptr) ==
          SQLITE_OK &&
      sqlite3_step(count) == SQLITE_ROW) {
    rows = sqlite3_column_int64(count, 0);
  }
  sqlite3_finalize(count);
  sqlite3_close(database);
  return rows;
}

// --- Turns and results ---

template <class Figures>
double Middle(const std::vector<Figures>& turns, double Figures::*field) {
  std::vector<double> values;
  for (const Figures& turn : turns) values.push_back(turn.*field);
  return Median(values);
}

void Row(const char* what, const char* unit, double real, double bare) {
  std::printf("  %-44s %10.2f %10.2f %7.2f  %s\n", what, real, bare, real / bare, unit);
}

void Heading(const char* bare) {
  std::printf("  %-44s %10s %10s %7s\n", "", "assay", bare, "ratio");
}

void FanOut(const std::string& self, RealProgram* real, int ranks, int connections) {
  Child bare({self, "--serve", std::to_string(ranks)});
  std::string address;
  if (!bare.ReadLine(&address)) Fail("the bare server did not print its address");
  real->Apply(JobOf(ranks), ranks);
  std::vector<FanoutFigures> real_turns;
  std::vector<FanoutFigures> bare_turns;
  {
    FanoutBed bare_bed(address, bare.pid(), ranks, connections);
    FanoutBed real_bed(real->address(), real->pid(), ranks, connections);
    for (int turn = 0; turn < kTurns; ++turn) {
      bare_turns.push_back(bare_bed.Turn());
      real_turns.push_back(real_bed.Turn());
    }
  }
  std::printf("\nfan-out to %d subscribers on %d connections, %d ranks (%zu bytes)\n", kSubscribers,
              connections, ranks, Notification(JobOf(ranks), ranks).ByteSizeLong());
  Heading("bare gRPC");
  const double real_call = Middle(real_turns, &FanoutFigures::call_ms);
  const double real_answer = Middle(real_turns, &FanoutFigures::answer_ms);
  const double bare_call = Middle(bare_turns, &FanoutFigures::call_ms);
  Row("StressTest called to 64th delivery", "ms", real_call, bare_call);
  // The bare server does nothing between call and answer, so its time from the call is the ceiling.
  Row("answered to 64th delivery (bare: called to)", "ms", real_answer, bare_call);
  Row("messages a second in that time", "/s", kSubscribers / real_answer * 1e3,
      kSubscribers / bare_call * 1e3);
  Row("messages a second, whole tests in a row", "/s",
      Middle(real_turns, &FanoutFigures::per_second),
      Middle(bare_turns, &FanoutFigures::per_second));
  Row("server's processor time, called to 64th", "ms", Middle(real_turns, &FanoutFigures::cpu_ms),
      Middle(bare_turns, &FanoutFigures::cpu_ms));
}

void OutcomesAcknowledged(RealProgram* real) {
  TempDir dir;
  const std::string job = "agents";
  real->Apply(job, kAgents * kDevices);
  BareSqlite sqlite(dir / "bare.db");
  std::vector<OutcomeFigures> real_turns;
  std::map<int, std::vector<OutcomeFigures>> bare_turns;
  {
    OutcomeBed bed(real->address(), real->pid(), job);
    for (int turn = 0; turn < kTurns; ++turn) {
      for (const int rows : kRowsPerBatch) bare_turns[rows].push_back(sqlite.Turn(rows));
      real_turns.push_back(bed.Turn());
    }
  }
  if (StoredOutcomes(real->db()) != std::int64_t{kTurns} * kOutcomes) {
    Fail("the number of stored outcomes differs from the acknowledged ones");
  }
  const double wall = Middle(real_turns, &OutcomeFigures::wall_ms);
  const double cpu = Middle(real_turns, &OutcomeFigures::cpu_ms);
  std::printf("\n%d outcomes of %d agents, from the first sent to the last acknowledged\n",
              kOutcomes, kAgents);
  Heading("SQLite");
  for (const int rows : kRowsPerBatch) {
    const std::string beside = ", bare: " + std::to_string(rows) + " rows a commit";
    Row(("time" + beside).c_str(), "ms", wall, Middle(bare_turns[rows], &OutcomeFigures::wall_ms));
    Row(("processor time" + beside).c_str(), "ms", cpu,
        Middle(bare_turns[rows], &OutcomeFigures::cpu_ms));
  }
  std::printf("  acknowledged a second: %.0f\n", kOutcomes / wall * 1e3);
}

// Runs `measure` with a new coordinator, so that no earlier measurement's data slows it down.
void WithProgram(const std::string& binary, const std::function<void(RealProgram*)>& measure) {
  RealProgram real(binary);
  try {
    measure(&real);
  } catch (const std::exception&) {
    std::fprintf(stderr, "%s", real.Log().c_str());
    throw;
  }
}

int Bench(const std::string& self, const std::string& binary) {
  base::RaiseOpenFilesLimit();
  for (const int ranks : {kSmallRanks, kLargeRanks}) {
    for (const int connections : kConnections) {
      WithProgram(binary, [&](RealProgram* real) { FanOut(self, real, ranks, connections); });
    }
  }
  WithProgram(binary, [](RealProgram* real) { OutcomesAcknowledged(real); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string first = argc > 1 ? argv[1] : "";
    if (argc == 3 && first == "--serve") return Serve(std::stoi(argv[2]));
    if (argc == 2 && first != "--help") return Bench("/proc/self/exe", first);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "speed_bench: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: speed_bench ASSAY_BINARY\n");
  return 2;
}
