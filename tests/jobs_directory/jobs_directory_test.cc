// The jobs directory with real files and a real cluster, without gRPC and store; also run under the
// thread sanitizer. tests/e2e/jobs_directory_test.py tests the whole program.
#include "jobs_directory/jobs_directory.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "core/cluster/cluster.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::control;
using namespace assay::core;
using namespace assay::core::cluster;
using namespace assay::jobs_directory;
using namespace assay::support;

namespace {

using Jobs = std::map<std::string, std::size_t>;  // job -> number of ranks

std::string Table(std::size_t ranks) {
  if (ranks == 0) return "{\"status\":\"initializing\"}";
  std::string text = R"({"status":"complete","server_list":[{"server_id":"a","device":[)";
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string id = '"' + std::to_string(rank) + '"';
    text += (rank > 0 ? "," : "") + (R"({"device_id":)" + id) + R"(,"rank_id":)" + id + "}";
  }
  return text + "]}]}";
}

// Stands in for the control loop: steps a cluster and answers calls.
class Loop {
 public:
  Loop() : thread_([this] { Run(); }) {}
  ~Loop() {
    while (intake.live_count() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    intake.mailbox().Close();
    thread_.join();
  }

  Jobs jobs() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return jobs_;
  }
  bool Reach(const Jobs& wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (jobs() != wanted) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  Intake intake{IntakeLimits{}};
  std::atomic<bool> broken{false};
  std::atomic<int> failed{0};

 private:
  void Run() {
    std::vector<Inbound> items;
    while (!intake.mailbox().Drained()) {
      (void)intake.mailbox().Wait(-1);
      items.clear();
      intake.mailbox().Drain(&items, 16);
      for (Inbound& item : items) Take(item);
    }
  }
  void Take(Inbound& item) {
    if (item.kind != Inbound::Kind::kCall) return;
    if (broken) {
      ++failed;
      return item.call->Failed(UnavailableError("no"));
    }
    Output out;
    cluster_.Step(*item.event, ++now_, &out);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.clear();
      for (const auto& [id, job] : cluster_.durable().jobs) jobs_[id] = job.table->ranks.size();
    }
    for (Effect& effect : out.effects) {
      if (auto* answer = std::get_if<Answer>(&effect)) item.call->Answered(std::move(*answer));
    }
  }

  Ms now_ = 1'000'000;
  Cluster cluster_{Settings{}, Durable{}, now_};
  std::mutex mutex_;
  Jobs jobs_;
  std::thread thread_;
};

void Write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
}

}  // namespace

TEST_CASE("files become jobs, however they are written") {
  const TempDir folder;
  Write(folder / "early.json", Table(1));
  Loop loop;
  JobsDirectory directory(folder.path(), &loop.intake);
  REQUIRE(directory.Start().ok());
  CHECK(loop.Reach({{"early", 1}}));
  Write(folder / "j.json", Table(2));
  Write(folder / ".k.tmp", Table(3));
  std::filesystem::rename(folder / ".k.tmp", folder / "k.json");
  std::filesystem::create_symlink("k.json", folder / "link.json");
  CHECK(loop.Reach({{"early", 1}, {"j", 2}, {"k", 3}, {"link", 3}}));
  std::filesystem::remove(folder / "early.json");
  std::filesystem::remove(folder / "link.json");
  Write(folder / "j.json", Table(4));
  CHECK(loop.Reach({{"j", 4}, {"k", 3}}));
  directory.Stop();
}

TEST_CASE("events that the cluster cannot store are posted again until it can") {
  const TempDir folder;
  Write(folder / "a.json", Table(1));
  Loop loop;
  loop.broken = true;
  JobsDirectory directory(folder.path(), &loop.intake);
  REQUIRE(directory.Start().ok());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (loop.failed < 3 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(loop.failed >= 3);
  CHECK(loop.jobs().empty());
  loop.broken = false;
  CHECK(loop.Reach({{"a", 1}}));
  directory.Stop();
}

TEST_CASE("a removed directory deletes no jobs, and one that appears is read") {
  const TempDir folder;
  const std::string jobs = folder / "jobs";
  Loop loop;
  JobsDirectory directory(jobs, &loop.intake);
  REQUIRE(directory.Start().ok());
  std::filesystem::create_directory(folder / "new");
  Write(folder / "new/a.json", Table(1));
  std::filesystem::rename(folder / "new", jobs);
  CHECK(loop.Reach({{"a", 1}}));
  std::filesystem::rename(jobs, folder / "old");
  std::filesystem::create_directory(folder / "new");
  Write(folder / "new/a.json", Table(1));
  Write(folder / "new/b.json", Table(2));
  std::filesystem::rename(folder / "new", jobs);
  CHECK(loop.Reach({{"a", 1}, {"b", 2}}));
  directory.Stop();
}

TEST_CASE("after many random changes the jobs match the files") {
  const TempDir folder;
  Loop loop;
  std::optional<JobsDirectory> directory;
  directory.emplace(folder.path(), &loop.intake);
  REQUIRE(directory->Start().ok());
  std::mt19937 random(7);
  Jobs wanted;
  for (int change = 0; change < 1'500; ++change) {
    const std::string job = "job-" + std::to_string(random() % 50);
    const std::string file = folder / (job + ".json");
    const std::size_t ranks = random() % 9;
    switch (random() % 4) {
      case 0:
        std::filesystem::remove(file);
        wanted.erase(job);
        continue;
      case 1:
        Write(folder / ".tmp", Table(ranks));
        std::filesystem::rename(folder / ".tmp", file);
        break;
      default:
        Write(file, Table(ranks).substr(0, 20));
        Write(file, Table(ranks));
    }
    wanted[job] = ranks;
    loop.broken = change % 500 > 400;
    if (change == 700) {  // stopped with calls in progress, and started again
      directory->Stop();
      while (loop.intake.live_count() != 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      directory.emplace(folder.path(), &loop.intake);
      REQUIRE(directory->Start().ok());
    }
  }
  loop.broken = false;
  CHECK(loop.Reach(wanted));
  directory->Stop();
}
