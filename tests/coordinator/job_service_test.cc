// The service job.Job, over loopback.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/coordinator/harness.h"

namespace assay::coordinator {
namespace {

using job::JobSummarySignal;
using job::JobSummarySignalList;

const char* const kRole = "CCAgent";

grpc::Status Register(Client* client, const std::string& role, job::Status* answer) {
  job::ClientInfo info;
  info.set_role(role);
  return client->jobs->Register(Client::Context().get(), info, answer);
}

std::string Registered(Client* client, const std::string& role = kRole) {
  job::Status answer;
  const grpc::Status status = Register(client, role, &answer);
  INFO(status.error_message() << answer.info());
  REQUIRE(status.ok());
  REQUIRE(answer.code() == 200);
  CHECK(answer.info() == "registration successful");
  return answer.clientid();
}

// The signals that a subscriber has received.
struct Seen {
  std::map<std::string, JobSummarySignal> newest;  // by job
  std::vector<JobSummarySignal> all;

  void Add(const JobSummarySignal& signal) {
    newest[signal.jobid()] = signal;
    all.push_back(signal);
  }
  bool Is(const std::string& job, const std::string& state, const std::string& what = "add") const {
    const auto found = newest.find(job);
    return found != newest.end() && found->second.jobstatus() == state &&
           found->second.operator_() == what;
  }
};

// One stream of either method. The constructor returns once it is subscribed.
template <class Message>
class Subscription {
 public:
  Subscription(Client* client, const std::string& id, const std::string& role = kRole) {
    job::ClientInfo info;
    info.set_role(role);
    info.set_clientid(id);
    if constexpr (std::is_same_v<Message, JobSummarySignal>) {
      reader_ = client->jobs->SubscribeJobSummarySignal(context_.get(), info);
    } else {
      reader_ = client->jobs->SubscribeJobSummarySignalList(context_.get(), info);
    }
    reader_->WaitForInitialMetadata();
  }
  ~Subscription() {
    context_->TryCancel();
    static_cast<void>(Finish());
  }

  bool Next(Message* message) { return reader_->Read(message); }
  // Reads until holds() is true; false if the stream ends first.
  bool ReadUntil(const std::function<bool(const Seen&)>& holds) {
    Message message;
    while (!holds(seen)) {
      if (!reader_->Read(&message)) return false;
      if constexpr (std::is_same_v<Message, JobSummarySignal>) {
        seen.Add(message);
      } else {
        for (const JobSummarySignal& signal : message.jobsummarysignals()) seen.Add(signal);
      }
    }
    return true;
  }
  void Cancel() { context_->TryCancel(); }
  grpc::Status Finish() {
    if (std::exchange(finished_, true)) return grpc::Status::OK;
    Message message;
    while (reader_->Read(&message)) {
    }
    return reader_->Finish();
  }

  Seen seen;

 private:
  std::unique_ptr<grpc::ClientContext> context_ = Client::Context();
  std::unique_ptr<grpc::ClientReader<Message>> reader_;
  bool finished_ = false;
};
using Signals = Subscription<JobSummarySignal>;
using Lists = Subscription<JobSummarySignalList>;

bool IsUuid(const std::string& text) {
  if (text.size() != 36 || text[14] != '4') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

TEST_CASE("Register: each role of ClusterD gets an id, others are refused") {
  Bed bed;
  Client client(bed);
  std::set<std::string> ids;
  for (const char* role : {"CCAgent", "DefaultUser1", "DefaultUser2", "FdAgent", "CCAgent"}) {
    const std::string id = Registered(&client, role);
    CHECK(IsUuid(id));
    ids.insert(id);
  }
  CHECK(ids.size() == 5);
  job::Status answer;
  grpc::Status status = Register(&client, "somebody", &answer);
  CHECK(status.error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(status.error_message() == "role:somebody is not in whitelist");
  status = Register(&client, "", &answer);
  CHECK(status.error_code() == grpc::StatusCode::PERMISSION_DENIED);
  status = Register(&client, "a\nb\x1b" + std::string(10'000, 'x'), &answer);
  CHECK(status.error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(status.error_message().find('\n') == std::string::npos);
  CHECK(status.error_message().size() < 200);
  status = Register(&client, std::string(70'000, 'x'), &answer);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Register and subscribe: limits are reported with the wire's codes") {
  Bed bed([](CoordinatorOptions* options) { options->settings.subscriptions_max = 1; });
  Client client(bed);
  const std::string one = Registered(&client);
  const std::string two = Registered(&client);

  auto first = std::make_unique<Signals>(&client, one);
  job::Status answer;
  CHECK(Eventually([&] {
    REQUIRE(Register(&client, kRole, &answer).ok());
    return answer.code() == 429;
  }));
  CHECK(answer.info() == "subscription num limit, 1 are open");
  CHECK(answer.clientid().empty());
  Signals second(&client, two);
  CHECK(second.Finish().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  // A second stream of the same id replaces the first.
  Lists again(&client, one);
  CHECK(first->Finish().error_code() == grpc::StatusCode::ABORTED);
  again.Cancel();
  CHECK(Eventually([&] {
    Signals later(&client, two);
    later.Cancel();
    return later.Finish().error_code() == grpc::StatusCode::CANCELLED;
  }));
}

TEST_CASE("subscribe: a wrong id or role is refused with ClusterD's texts") {
  Bed bed([](CoordinatorOptions* options) { options->settings.client_kept = 300; });
  Client client(bed);
  grpc::Status status = Signals(&client, "nobody").Finish();
  CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(status.error_message() == "invalid clientId: nobody, please register first");
  status = Lists(&client, "").Finish();
  CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
  status = Signals(&client, "a\n" + std::string(10'000, 'x')).Finish();
  CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(status.error_message().size() < 200);
  status = Signals(&client, std::string(70'000, 'x')).Finish();
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);

  const std::string id = Registered(&client);
  status = Signals(&client, id, "FdAgent").Finish();
  CHECK(status.error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(status.error_message() == "invalid role: FdAgent, please check role first");
  // Without a stream the id expires. (A request with the wrong role does not renew it.)
  CHECK(Eventually([&] {
    return Signals(&client, id, "FdAgent").Finish().error_code() == grpc::StatusCode::NOT_FOUND;
  }));
}

TEST_CASE("a newer stream of an id replaces the older one, whose status reports it") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  const std::string id = Registered(&client);
  Signals older(&client, id);
  Signals newer(&client, id);
  const grpc::Status status = older.Finish();
  CHECK(status.error_code() == grpc::StatusCode::ABORTED);
  CHECK_FALSE(status.error_message().empty());
  CHECK(newer.ReadUntil([](const Seen& seen) { return seen.Is("job-1", "running"); }));
}

TEST_CASE("subscribers get the present jobs, then every change, the same with both methods") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("gone", Table(1, 1)).ok());
  REQUIRE(client.Delete("gone").ok());
  REQUIRE(client.Apply("job-1", Table(2, 2)).ok());
  REQUIRE(client.Apply("job-2", R"({"status":"initializing"})").ok());

  Signals signals(&client, Registered(&client));
  Lists lists(&client, Registered(&client, "FdAgent"), "FdAgent");
  JobSummarySignalList first;
  REQUIRE(lists.Next(&first));
  CHECK(first.jobtotalnum() == 3);
  CHECK(first.jobsummarysignals_size() == 3);
  for (const JobSummarySignal& signal : first.jobsummarysignals()) lists.seen.Add(signal);

  REQUIRE(client.SetState("job-1", "complete").ok());
  REQUIRE(client.SetState("job-1", "complete").ok());  // unchanged: no signal
  REQUIRE(client.Delete("job-2").ok());
  REQUIRE(client.Apply("job-2", Table(1, 1)).ok());
  REQUIRE(client.Delete("job-1").ok());
  const auto all = [](const Seen& seen) { return seen.Is("job-1", "complete", "delete"); };
  REQUIRE(signals.ReadUntil(all));
  JobSummarySignalList list;
  while (!all(lists.seen)) {
    REQUIRE(lists.Next(&list));
    CHECK(list.jobtotalnum() == 1);
    REQUIRE(list.jobsummarysignals_size() == 1);
    CHECK(list.reporttime() >= first.reporttime());
    lists.seen.Add(list.jobsummarysignals(0));
  }
  // Both streams keep up: nothing is conflated, and the bytes are equal.
  const std::vector<std::string> expected = {
      "gone delete failed",  "job-1 add running", "job-2 add pending",    "job-1 add complete",
      "job-2 delete failed", "job-2 add running", "job-1 delete complete"};
  for (const Seen* seen : {&signals.seen, &lists.seen}) {
    std::vector<std::string> told;
    for (const JobSummarySignal& signal : seen->all) {
      told.push_back(signal.jobid() + " " + signal.operator_() + " " + signal.jobstatus());
    }
    CHECK(told == expected);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const JobSummarySignal& one = signals.seen.all[i];
    CHECK(one.SerializeAsString() == lists.seen.all[i].SerializeAsString());
    CHECK(IsUuid(one.uuid()));
    CHECK(one.deletetime().empty() == (one.operator_() == "add" && one.jobstatus() != "complete"));
  }
  CHECK(signals.seen.all[2].hccljson() == R"({"status":"initializing"})");
  CHECK(signals.seen.all[1].hccljson().find("node-1") != std::string::npos);
}

TEST_CASE("after a restart subscribers subscribe again and get the current state") {
  Bed bed;
  {
    Client client(bed);
    REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
    REQUIRE(client.Apply("job-2", Table(1, 1)).ok());
    Signals signals(&client, Registered(&client));
    REQUIRE(client.SetState("job-1", "failed").ok());
    REQUIRE(client.Delete("job-2").ok());
    REQUIRE(
        signals.ReadUntil([](const Seen& seen) { return seen.Is("job-2", "failed", "delete"); }));
    bed.Restart();
    CHECK(signals.Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  }
  Client client(bed);
  const std::string id = Registered(&client);
  Signals signals(&client, id);
  REQUIRE(client.Apply("job-3", Table(1, 1)).ok());
  REQUIRE(signals.ReadUntil([](const Seen& seen) { return seen.Is("job-3", "running"); }));
  CHECK(signals.seen.Is("job-1", "failed"));
  CHECK(signals.seen.Is("job-2", "failed", "delete"));
  CHECK(signals.seen.all.size() == 3);
}

TEST_CASE("a reader that pauses is conflated, never ended, and gets the final state") {
  Bed bed([](CoordinatorOptions* options) { options->subscriber_buffer = 16 * 1024; });
  Client client(bed);
  Client slow(bed, 64 * 1024);  // its own connection
  constexpr int kJobs = 20;
  constexpr int kRounds = 30;
  const auto name = [](int job) { return "job-" + std::to_string(job); };
  // A few kilobytes each, so that a round exceeds what the connection buffers.
  for (int j = 0; j < kJobs; ++j) REQUIRE(client.Apply(name(j), Table(8, 8)).ok());
  Signals paused(&slow, Registered(&slow));
  Lists paused_lists(&slow, Registered(&slow));
  const auto last = [](const Seen& seen) { return seen.Is("last", "running"); };
  Signals quick(&client, Registered(&client));
  std::thread reading([&] { static_cast<void>(quick.ReadUntil(last)); });
  bool stored = true;
  for (int round = 0; round < kRounds; ++round) {
    for (int j = 0; j < kJobs; ++j) {
      stored = client.SetState(name(j), round % 2 == 0 ? "failed" : "running").ok() && stored;
    }
  }
  for (int j = 0; j < kJobs; j += 2) stored = client.Delete(name(j)).ok() && stored;
  stored = client.Apply("last", Table(1, 1)).ok() && stored;
  reading.join();
  REQUIRE(stored);
  REQUIRE(paused.ReadUntil(last));
  REQUIRE(paused_lists.ReadUntil(last));
  for (const Seen* seen : {&quick.seen, &paused.seen, &paused_lists.seen}) {
    for (int j = 0; j < kJobs; ++j) {
      CHECK((j % 2 == 0 ? seen->Is(name(j), "failed", "delete")
                        : seen->Is(name(j), "running", "add")));
    }
  }
  for (const Seen* seen : {&paused.seen, &paused_lists.seen}) {
    CHECK(seen->all.size() < kJobs * kRounds);
  }
}

// A rank table with as many ranks as the size needs.
std::string LargeTable(std::size_t bytes) {
  std::string servers;
  for (int n = 0; servers.size() < bytes; ++n) {
    std::string devices;
    for (int d = 0; d < 8; ++d) {
      devices += std::string(d == 0 ? "" : ",") + R"({"device_id":")" + std::to_string(d) +
                 R"(","device_ip":"10.1.)" + std::to_string(n / 250) + "." +
                 std::to_string(n % 250 + 1) + R"(","rank_id":")" + std::to_string(8 * n + d) +
                 R"("})";
    }
    servers += std::string(n == 0 ? "" : ",") + R"({"server_id":"10.2.)" + std::to_string(n / 250) +
               "." + std::to_string(n % 250 + 1) + R"(","server_name":"node-)" + std::to_string(n) +
               R"(","device":[)" + devices + "]}";
  }
  return R"({"status":"completed","version":"1.0","server_list":[)" + servers + "]}";
}

TEST_CASE("a table of 4 MiB is too large for a message: signals omit it") {
  Bed bed;
  Client client(bed);
  const grpc::Status status = client.Apply("large", LargeTable(std::size_t{4} << 20));
  INFO(status.error_message());
  REQUIRE(status.ok());
  Signals signals(&client, Registered(&client));
  Lists lists(&client, Registered(&client));
  const auto there = [](const Seen& seen) { return seen.Is("large", "running"); };
  REQUIRE(signals.ReadUntil(there));
  REQUIRE(lists.ReadUntil(there));
  CHECK(signals.seen.all[0].hccljson().empty());
  CHECK(lists.seen.all[0].hccljson().empty());
}

TEST_CASE("a list's pages have one report time and the total number of jobs") {
  Bed bed;
  constexpr int kJobs = 120;
  const std::string table = LargeTable(90'000);
  std::vector<std::thread> threads;
  std::atomic<int> applied{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Client client(bed);
      for (int j = t; j < kJobs; j += 4) {
        if (client.Apply("job-" + std::to_string(j), table).ok()) ++applied;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(applied == kJobs);
  Client client(bed);
  Lists lists(&client, Registered(&client));
  std::set<std::string> jobs;
  std::set<std::string> times;
  int pages = 0;
  JobSummarySignalList page;
  while (jobs.size() < kJobs) {
    REQUIRE(lists.Next(&page));
    ++pages;
    CHECK(page.ByteSizeLong() <= (std::size_t{4} << 20) - (std::size_t{64} << 10));
    CHECK(page.jobtotalnum() == kJobs);
    times.insert(page.reporttime());
    for (const JobSummarySignal& signal : page.jobsummarysignals()) {
      CHECK(jobs.insert(signal.jobid()).second);
    }
  }
  CHECK(pages >= 3);
  CHECK(times.size() == 1);
  REQUIRE(client.SetState("job-7", "complete").ok());
  REQUIRE(lists.Next(&page));
  CHECK(page.jobtotalnum() == 1);
  CHECK(page.jobsummarysignals(0).jobid() == "job-7");
}

TEST_CASE("a list subscriber without jobs gets the first job when it is applied") {
  Bed bed;
  Client client(bed);
  Lists lists(&client, Registered(&client));
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  JobSummarySignalList list;
  REQUIRE(lists.Next(&list));
  CHECK(list.jobtotalnum() == 1);
  CHECK(list.jobsummarysignals_size() == 1);
}

TEST_CASE("a store failure ends subscribers, and no signal is sent that is not stored") {
  std::atomic<bool> broken{false};
  Bed bed([&](CoordinatorOptions* options) { BreakOnDemand(options, &broken); });
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 1)).ok());
  const std::string id = Registered(&client);
  Signals signals(&client, id);
  REQUIRE(signals.ReadUntil([](const Seen& seen) { return seen.Is("job-1", "running"); }));
  broken = true;
  CHECK(client.SetState("job-1", "failed").error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(signals.Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  job::Status answer;
  CHECK(Register(&client, kRole, &answer).error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(Signals(&client, id).Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  broken = false;
  REQUIRE(Eventually([&] { return Register(&client, kRole, &answer).ok(); }));
  Signals later(&client, answer.clientid());
  REQUIRE(client.Apply("job-2", Table(1, 1)).ok());
  REQUIRE(later.ReadUntil([](const Seen& seen) { return seen.Is("job-2", "running"); }));
  CHECK(later.seen.Is("job-1", "running"));
  CHECK(later.seen.all.size() == 2);
}

}  // namespace
}  // namespace assay::coordinator
