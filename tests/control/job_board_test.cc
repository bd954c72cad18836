// The board of job signals, and the signals that subscribers get over random histories.
#include "control/job_board.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/board_fanout.h"
#include "tests/control/board_streams.h"

namespace assay::control {
namespace {

std::vector<std::uint64_t> Changes(JobBoard* board, std::uint64_t cursor = 0,
                                   std::uint64_t came = 0) {
  std::vector<std::uint64_t> changes;
  while (const JobBoard::Item* item = board->After(cursor, came)) {
    cursor = item->signal->change;
    changes.push_back(cursor);
  }
  return changes;
}

TEST_CASE("the board has each job's newest signal, in order, and a delete beside a new life") {
  JobBoard board;
  CHECK(board.After(0, 0) == nullptr);
  board.Apply(MakeSignal("a", 1, false));
  board.Apply(MakeSignal("b", 2, false));
  board.Apply(MakeSignal("a", 3, false));
  CHECK(Changes(&board) == std::vector<std::uint64_t>{2, 3});
  board.Apply(MakeSignal("a", 4, true));
  CHECK(Changes(&board) == std::vector<std::uint64_t>{2, 4});
  board.Apply(MakeSignal("a", 5, false));
  board.Apply(MakeSignal("b", 6, false));
  CHECK(Changes(&board) == std::vector<std::uint64_t>{4, 5, 6});
  CHECK(Changes(&board, 5) == std::vector<std::uint64_t>{6});
  board.Apply(MakeSignal("a", 7, true));
  CHECK(Changes(&board) == std::vector<std::uint64_t>{6, 7});
  CHECK(board.last_change() == 7);
  CHECK(board.Find(7)->signal->job.id == "a");
  CHECK(board.Find(5) == nullptr);
}

TEST_CASE("a subscriber that attaches to a present job does not get its earlier delete") {
  JobBoard board;
  board.Apply(MakeSignal("a", 1, false));
  board.Apply(MakeSignal("a", 2, true));
  board.Apply(MakeSignal("b", 3, true));
  CHECK(Changes(&board, 0, 3) == std::vector<std::uint64_t>{2, 3});
  board.Apply(MakeSignal("a", 4, false));
  CHECK(Changes(&board, 0, 1) == std::vector<std::uint64_t>{2, 3, 4});  // attached during that life
  CHECK(Changes(&board, 0, 3) == std::vector<std::uint64_t>{3, 4});
  CHECK(Changes(&board, 0, 4) == std::vector<std::uint64_t>{3, 4});
  REQUIRE(board.Snapshot()->size() == 2);
  CHECK(board.Snapshot()->at(1)->change == 4);
  board.Apply(MakeSignal("a", 5, true));
  CHECK(Changes(&board, 0, 5) == std::vector<std::uint64_t>{3, 5});
}

TEST_CASE("Forget removes only a delete and returns its change") {
  JobBoard board;
  board.Apply(MakeSignal("a", 1, false));
  CHECK(board.Forget("a") == 0);
  CHECK(board.Forget("nobody") == 0);
  board.Apply(MakeSignal("a", 2, true));
  board.Apply(MakeSignal("a", 3, false));
  CHECK(board.Forget("a") == 2);
  CHECK(board.Forget("a") == 0);
  CHECK(Changes(&board) == std::vector<std::uint64_t>{3});
  board.Apply(MakeSignal("a", 4, true));
  CHECK(board.Forget("a") == 4);
  CHECK(board.size() == 0);
  board.Apply(MakeSignal("a", 5, false));
  board.Clear();
  CHECK(board.size() == 0);
  board.Apply(MakeSignal("a", 1, false));  // numbers restart
  CHECK(Changes(&board) == std::vector<std::uint64_t>{1});
}

TEST_CASE("a snapshot is one object until the board changes, and does not change itself") {
  JobBoard board;
  board.Apply(MakeSignal("a", 1, false));
  const JobBoard::SnapshotPtr first = board.Snapshot();
  CHECK(board.Snapshot() == first);
  board.Apply(MakeSignal("a", 2, true));
  const JobBoard::SnapshotPtr second = board.Snapshot();
  CHECK(second != first);
  CHECK(first->at(0)->change == 1);
  CHECK(second->at(0)->change == 2);
  CHECK(board.Forget("a") == 2);
  CHECK(board.Snapshot()->empty());
}

// --- Random histories ---

// The identity of a signal without its change number: the same before and after an outage.
struct Moment {
  std::string job;
  std::int64_t serial = 0;  // counts all changes
  int life = 0;             // counts the lives of this job
  bool deleted = false;
};

core::SignalPtr ToSignal(const Moment& moment, std::uint64_t change) {
  core::Signal signal = *MakeSignal(moment.job, change, moment.deleted);
  signal.created = moment.serial;
  signal.job.name = std::to_string(moment.life);
  return std::make_shared<const core::Signal>(std::move(signal));
}

// A stream with a ring and a limit of bytes; its client reads when the test calls Read.
class RandomStream final : public StreamPort {
 public:
  RandomStream(core::StreamId number, std::shared_ptr<BoardFanout> board, std::size_t ring,
               std::size_t bytes)
      : id(number), board_(std::move(board)), ring_(ring), bytes_max_(bytes) {}

  void Announce() override { announced = true; }
  void NameRun(core::RunId) override {}
  bool Ready(std::size_t bytes) override {
    CHECK(!ended);
    CHECK(!waits_);
    ready_ = pending_.empty() || (pending_.size() < ring_ && Bytes() + bytes <= bytes_max_);
    waits_ = !ready_;
    return ready_;
  }
  bool Send(const assay::control::Bytes& bytes) override {
    CHECK(announced);
    CHECK(!ended);
    CHECK(std::exchange(ready_, false));
    pending_.push_back(bytes);
    return true;
  }
  void PostClosed() override { closed = true; }
  void End(const base::Status& status) override {
    CHECK(!ended);
    ended = status;
  }

  // Reads up to `messages` messages, those in flight when the stream ended included.
  void Read(std::size_t messages) {
    for (; messages != 0 && !pending_.empty(); --messages) {
      read.push_back(pending_.front());
      pending_.pop_front();
      if (waits_ && pending_.size() <= ring_ / 2) {
        waits_ = false;
        board_->StreamHasRoom(id);
      }
    }
  }
  bool Waiting() const { return waits_; }

  const core::StreamId id;
  bool announced = false;
  bool closed = false;
  std::optional<base::Status> ended;
  std::vector<assay::control::Bytes> read;

 private:
  std::size_t Bytes() const {
    std::size_t bytes = 0;
    for (const assay::control::Bytes& one : pending_) {
      bytes += AsMessage(one).signals.size() * kSignalBytes;
    }
    return bytes;
  }

 public:
  static constexpr std::size_t kSignalBytes = 100;

 private:
  const std::shared_ptr<BoardFanout> board_;
  const std::size_t ring_;
  const std::size_t bytes_max_;
  std::deque<assay::control::Bytes> pending_;
  bool ready_ = false;
  bool waits_ = false;
};

// A client that follows jobs, with one stream after the other.
struct Follower {
  bool list = false;
  bool paused = false;
  std::vector<std::shared_ptr<RandomStream>> streams;
};

class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed)
      : random_(seed),
        board_(std::make_shared<BoardFanout>(&pool_.ready(), &encoder_)),
        followers_(1 + Any(4)) {
    for (Follower& follower : followers_) follower.list = Any(2) == 0;
  }

  void Run() {
    const std::size_t steps = 20 + Any(120);
    for (std::size_t i = 0; i < steps; ++i) Step();
    // All followers read until nothing changes.
    for (Follower& follower : followers_) follower.paused = false;
    for (int quiet = 0; quiet < 2;) {
      const std::size_t before = Read();
      pool_.RunHere();
      for (Follower& follower : followers_) {
        if (!follower.streams.empty()) follower.streams.back()->Read(1000);
      }
      quiet = Read() == before ? quiet + 1 : 0;
    }
    for (const Follower& follower : followers_) Check(follower);
  }

 private:
  std::size_t Any(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  std::size_t Read() const {
    std::size_t read = 0;
    for (const Follower& follower : followers_) {
      for (const auto& stream : follower.streams) read += stream->read.size();
    }
    return read;
  }

  void Step() {
    switch (Any(12)) {
      case 0:
        for (std::size_t i = 0, n = Any(400); i < n; ++i) Change();  // faster than the fan-out
        break;
      case 1:
        Forget();
        break;
      case 2:
        if (Any(8) == 0) Outage();
        break;
      case 3:
      case 4:
        Come(&followers_[Any(followers_.size())]);
        break;
      case 5:
        Go(&followers_[Any(followers_.size())]);
        break;
      case 6: {
        Follower& follower = followers_[Any(followers_.size())];
        follower.paused = !follower.paused;
        break;
      }
      case 7:
      case 8:
        for (Follower& follower : followers_) {
          if (!follower.paused && !follower.streams.empty()) {
            follower.streams.back()->Read(Any(6));
          }
        }
        break;
      default:
        Change();
    }
    if (Any(3) != 0) pool_.RunHere();
  }

  void Change() {
    const std::string job(1, static_cast<char>('a' + Any(5)));
    Moment& present = present_[job];
    Moment next;
    next.job = job;
    next.serial = ++serial_;
    if (present.serial == 0) {
      next.life = ++lives_[job];
    } else {
      next.life = present.life;
      next.deleted = Any(3) == 0;
    }
    if (next.deleted) {
      present_.erase(job);
      deleted_[job] = next;
    } else {
      present = next;
    }
    newest_[job] = next;
    history_[next.serial] = next;
    board_->Post(SignalEntry{ToSignal(next, ++change_)});
  }

  void Forget() {
    if (deleted_.empty()) return;
    auto found = deleted_.begin();
    std::advance(found, static_cast<std::ptrdiff_t>(Any(deleted_.size())));
    forgotten_.insert(found->second.serial);
    board_->Post(ForgetEntry{found->first});
    deleted_.erase(found);
  }

  // The core is discarded and loaded again: it publishes all signals again, with new numbers.
  void Outage() {
    board_->Post(
        EndAllEntry{std::make_shared<const base::Status>(base::UnavailableError("disk full"))});
    pool_.RunHere();
    for (Follower& follower : followers_) {
      if (!follower.streams.empty()) CHECK(follower.streams.back()->ended);
    }
    std::map<std::int64_t, Moment> all;
    for (const auto& [job, moment] : deleted_) all[moment.serial] = moment;
    for (const auto& [job, moment] : present_) all[moment.serial] = moment;
    change_ = 0;
    for (const auto& [serial, moment] : all) {
      board_->Post(SignalEntry{ToSignal(moment, ++change_)});
    }
  }

  void Come(Follower* follower) {
    if (!follower->streams.empty() && !follower->streams.back()->ended) return;
    follower->streams.push_back(std::make_shared<RandomStream>(
        ++streams_, board_, std::size_t{1} << Any(5), RandomStream::kSignalBytes * (1 + Any(8))));
    board_->Post(AttachEntry{streams_, follower->streams.back().get(),
                             follower->list ? core::Topic::kSignalList : core::Topic::kSignal});
  }

  void Go(Follower* follower) {
    if (follower->streams.empty() || follower->streams.back()->ended) return;
    board_->Post(EndEntry{follower->streams.back()->id, std::make_shared<const base::Status>()});
    pool_.RunHere();
    CHECK(follower->streams.back()->ended);
  }

  // The signals of one stream. A follower's streams together may repeat some.
  std::vector<Moment> Told(const RandomStream& stream, bool list) const {
    std::vector<Moment> told;
    std::size_t of_snapshot = 0;
    std::optional<FakeMessage> first;
    for (const Bytes& bytes : stream.read) {
      const FakeMessage& message = AsMessage(bytes);
      if (list) {
        if (!first) first = message;
        const bool page = of_snapshot < first->total && first->total > 1;
        CHECK(message.total == (page ? first->total : 1));
        if (page) CHECK(message.report_time == first->report_time);
        of_snapshot += message.signals.size();
        if (page) CHECK(of_snapshot <= first->total);
        if (!page) CHECK(message.signals.size() == 1);
      } else {
        CHECK(message.signals.size() == 1);
      }
      for (const core::SignalPtr& signal : message.signals) {
        const Moment& moment = history_.at(signal->created);
        CHECK(moment.job == signal->job.id);
        CHECK(moment.deleted == signal->deleted);
        told.push_back(moment);
      }
    }
    return told;
  }

  void Check(const Follower& follower) const {
    std::map<std::string, Moment> last;  // by job, over all its streams
    for (const auto& stream : follower.streams) {
      std::map<std::string, Moment> seen;  // by job, of this stream
      for (const Moment& moment : Told(*stream, follower.list)) {
        const auto before = seen.find(moment.job);
        if (before != seen.end()) {
          CHECK(before->second.serial < moment.serial);
          // Between two lives the stream got the end of the first or of one in between.
          if (before->second.life != moment.life && !moment.deleted) {
            CHECK(before->second.deleted);
          }
        }
        // A newer stream begins with the current state: the same or newer, never older.
        const auto ever = last.find(moment.job);
        if (ever != last.end()) CHECK(ever->second.serial <= moment.serial);
        seen[moment.job] = moment;
        last[moment.job] = moment;
      }
      if (!stream->ended) CheckFinal(seen);
      if (stream->ended && stream->ended->code() == base::Code::kExhausted) CHECK(stream->closed);
    }
  }

  // A stream that is still open has got the last state of every job.
  void CheckFinal(const std::map<std::string, Moment>& seen) const {
    for (const auto& [job, newest] : newest_) {
      const auto found = seen.find(job);
      if (found == seen.end()) {
        CHECK(newest.deleted);
        CHECK(forgotten_.contains(newest.serial));
      } else {
        CHECK(found->second.serial == newest.serial);
      }
    }
  }

  std::mt19937_64 random_;
  FakeEncoder encoder_{RandomStream::kSignalBytes};
  lockfree::FanoutPool pool_;  // without threads: the test runs the entries
  std::shared_ptr<BoardFanout> board_;
  std::vector<Follower> followers_;
  core::StreamId streams_ = 0;
  // The expected state.
  std::int64_t serial_ = 0;
  std::uint64_t change_ = 0;
  std::map<std::string, int> lives_;
  std::map<std::string, Moment> present_;
  std::map<std::string, Moment> deleted_;  // and not yet forgotten
  std::map<std::string, Moment> newest_;
  std::map<std::int64_t, Moment> history_;
  std::set<std::int64_t> forgotten_;
};

TEST_CASE("random histories: each subscriber gets each job's changes in order, up to the last") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    RandomWorld(seed).Run();
  }
}

}  // namespace
}  // namespace assay::control
