#include "driver/host/copies.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "driver/host/cpu.h"
#include "driver/host/verdict.h"

namespace assay::driver::host {
namespace {

// More threads than this do not increase the memory throughput.
constexpr std::size_t kThreadsMax = 16;
// How long a device that has finished retains its buffer for peers that have not begun.
constexpr auto kLatePeerWait = std::chrono::seconds(60);
// The same if it could open no peer's buffer: then its peers can probably not open its own either.
constexpr auto kUntestedWait = std::chrono::seconds(5);
// How far the copied piece moves per round, in pages. Prime, so that it reaches every position.
constexpr std::size_t kStridePages = 97;
constexpr std::size_t kWordsPerLook = 4096;

using Words = const std::uint64_t*;

// One direction between two buffers in one round: byte x of the slot is byte (shift + x) of the
// source, which wraps around.
struct Copy {
  const char* source = nullptr;
  char* slot = nullptr;        // address of byte `slot_begin` of the slot
  std::size_t slot_begin = 0;  // scratch memory holds one thread's slice only
  std::uint64_t seed = 0;      // of the source's pattern
  std::size_t shift = 0;       // whole pages

  char* At(std::size_t x) const { return slot + (x - slot_begin); }
  std::size_t SourceByte(std::size_t x) const { return (shift + x) % kSourceBytes; }
  std::uint64_t Expected(std::size_t x) const {
    return PatternWord(seed, SourceByte(x) / sizeof(std::uint64_t));
  }
};

// Splits [begin, end) where the source wraps around, and calls fn(x, source byte, bytes) for each
// piece.
template <class Fn>
void ForPieces(const Copy& copy, std::size_t begin, std::size_t end, Fn fn) {
  while (begin < end) {
    const std::size_t from = copy.SourceByte(begin);
    const std::size_t bytes = std::min(end - begin, kSourceBytes - from);
    fn(begin, from, bytes);
    begin += bytes;
  }
}

void Perform(const Copy& copy, std::size_t begin, std::size_t end) {
  ForPieces(copy, begin, end, [&](std::size_t x, std::size_t from, std::size_t bytes) {
    std::memcpy(copy.At(x), copy.source + from, bytes);
  });
}

// The index of the first of `count` words that differs from the pattern, which starts at the
// pattern's word `first`; `count` if there is none.
std::size_t FindWrongWord(Words words, std::size_t count, std::uint64_t seed, std::uint64_t first) {
  for (std::size_t look = 0; look < count; look += kWordsPerLook) {
    const std::size_t end = std::min(count, look + kWordsPerLook);
    std::uint64_t wrong = 0;
    for (std::size_t i = look; i < end; ++i) wrong |= words[i] ^ PatternWord(seed, first + i);
    if (wrong == 0) continue;
    for (std::size_t i = look; i < end; ++i) {
      if (words[i] != PatternWord(seed, first + i)) return i;
    }
    // The word was wrong and is right now. The caller finds that out when it reads the word again.
    return look;
  }
  return count;
}

// The offset of the first wrong word of the slot's [begin, end).
std::optional<std::size_t> FindMismatch(const Copy& copy, std::size_t begin, std::size_t end) {
  std::optional<std::size_t> found;
  ForPieces(copy, begin, end, [&](std::size_t x, std::size_t from, std::size_t bytes) {
    if (found) return;
    const std::size_t count = bytes / sizeof(std::uint64_t);
    const std::size_t at =
        FindWrongWord(reinterpret_cast<Words>(copy.At(x)), count, copy.seed, from / 8);
    if (at < count) found = x + at * sizeof(std::uint64_t);
  });
  return found;
}

// Reads the word from memory: volatile, so the compiler cannot reuse an earlier value.
std::uint64_t ReadWord(const char* at) {
  return *reinterpret_cast<const volatile std::uint64_t*>(at);
}

void FlipBit(char* at) { *at = static_cast<char>(*at ^ 0x10); }

std::string DescribeWord(std::uint64_t got, std::uint64_t expected) {
  char text[80];
  std::snprintf(text, sizeof text, "0x%016" PRIx64 " instead of 0x%016" PRIx64, got, expected);
  return text;
}

struct Peer {
  std::string name;  // "rank 3 (device 1)"
  SharedBuffer buffer;
};

// The inputs that all threads of a test read.
struct Shared {
  const SharedBuffer* own = nullptr;
  const std::vector<Peer>* peers = nullptr;
  std::size_t slot_bytes = 0;
  Fault fault;
};

// The part of the test that one core's thread runs: its slice of every slot. Other threads read the
// results only after they have joined it.
class SliceTest {
 public:
  SliceTest(const Shared& shared, int core, std::size_t begin, std::size_t end, bool plants_fault)
      : shared_(shared),
        core_(core),
        begin_(begin),
        end_(end),
        fault_(plants_fault ? shared.fault : Fault()) {}

  void Run(WorkClock* clock) {
    // Reads copy into memory that this core touches first.
    scratch_.assign(end_ - begin_, 0);
    while (!clock->Over(rounds_ + 1)) {
      ++rounds_;
      if (fault_.Is(FaultKind::kSource, rounds_)) FlipBit(OwnSource());
      for (std::size_t i = 0; i < shared_.peers->size() && !clock->Over(rounds_); ++i) {
        WriteTo((*shared_.peers)[i], i);
        ReadFrom((*shared_.peers)[i], i);
      }
    }
    worked_ = clock->time().worked();
    passed_ = clock->time().passed();
  }

  std::int64_t rounds() const { return rounds_; }
  std::int64_t mismatches() const { return mismatches_; }
  std::int64_t bytes() const { return out_.bytes + in_.bytes; }
  std::chrono::nanoseconds worked() const { return worked_; }
  std::chrono::nanoseconds passed() const { return passed_; }
  double out_rate() const { return out_.Rate(); }
  double in_rate() const { return in_.Rate(); }
  const std::string& faulty() const { return faulty_; }
  const std::string& not_shown() const { return not_shown_; }

 private:
  struct Flow {
    std::int64_t bytes = 0;
    std::chrono::nanoseconds time{0};
    double Rate() const {
      const double seconds = std::chrono::duration<double>(time).count();
      return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
    }
  };

  std::size_t Shift(std::size_t peer) const {
    const std::size_t pages = static_cast<std::size_t>(rounds_ - 1) * kStridePages +
                              peer * (shared_.slot_bytes / kPageBytes);
    return pages % (kSourceBytes / kPageBytes) * kPageBytes;
  }
  // The source of the first byte of this slice's copy to the first peer.
  char* OwnSource() const {
    return shared_.own->writable_source() + (Shift(0) + begin_) % kSourceBytes;
  }

  void WriteTo(const Peer& peer, std::size_t index) {
    const Copy copy{shared_.own->source(), peer.buffer.slot(), 0, shared_.own->seed(),
                    Shift(index)};
    Timed(copy, &out_);
    const bool first = index == 0;
    const bool stuck = first && fault_.Is(FaultKind::kStuck, rounds_);
    if (stuck || (first && fault_.Is(FaultKind::kFlip, rounds_))) FlipBit(copy.At(begin_));
    Check(copy, "to " + peer.name, true, stuck);
  }

  void ReadFrom(const Peer& peer, std::size_t index) {
    const Copy copy{peer.buffer.source(), scratch_.data(), begin_, peer.buffer.seed(),
                    Shift(index)};
    Timed(copy, &in_);
    Check(copy, "from " + peer.name, false, false);
  }

  void Timed(const Copy& copy, Flow* flow) const {
    WorkTime time;
    Perform(copy, begin_, end_);
    time.Lap();
    flow->time += time.worked();
    flow->bytes += static_cast<std::int64_t>(end_ - begin_);
  }

  // Examines every page with a wrong word: one page whose fault is not shown must not hide another.
  void Check(const Copy& copy, const std::string& where, bool own_source, bool stuck) {
    for (std::size_t begin = begin_; begin < end_;) {
      const auto at = FindMismatch(copy, begin, end_);
      if (!at) return;
      ++mismatches_;
      const std::size_t page = *at / kPageBytes * kPageBytes;
      ExaminePage(copy, page, *at, where, own_source, stuck && page == begin_);
      begin = page + kPageBytes;
    }
  }

  // REQUIRES: the word at `at`, in the page that begins at `page`, was wrong.
  void ExaminePage(const Copy& copy, std::size_t page, std::size_t at, const std::string& where,
                   bool own_source, bool stuck) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    std::array<std::uint64_t, kPageBytes / kWord> got;
    for (std::size_t i = 0; i < got.size(); ++i) got[i] = ReadWord(copy.At(page + i * kWord));
    const auto what = [&](std::size_t offset) {
      return "core " + std::to_string(core_) + ": round " + std::to_string(rounds_) + ", copy " +
             where + ", offset " + std::to_string(offset) + ": ";
    };
    if (got[(at - page) / kWord] == copy.Expected(at)) {
      Keep(&faulty_, [&] { return what(at) + "a word was wrong, and right when read again"; });
    }
    std::vector<std::size_t> wrong;  // the offsets of words that are wrong in the copy alone
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t offset = page + i * kWord;
      const std::uint64_t expected = copy.Expected(offset);
      if (got[i] == expected) continue;
      const std::uint64_t in_source = ReadWord(copy.source + copy.SourceByte(offset));
      if (in_source == expected) {
        wrong.push_back(offset);
      } else if (own_source) {
        // No other process can write to this source, and it was read back after it was written. The
        // word stays wrong, so that the peers can tell whose fault it is.
        Keep(&faulty_, [&] {
          return what(offset) + "a word of this device's own buffer changed, " +
                 DescribeWord(in_source, expected);
        });
      } else {
        Keep(&not_shown_, [&] {
          return what(offset) + "the peer's own buffer holds wrong data, " +
                 DescribeWord(in_source, expected);
        });
      }
    }
    if (wrong.empty()) return;
    Perform(copy, page, page + kPageBytes);
    if (stuck) FlipBit(copy.At(page));
    for (const std::size_t offset : wrong) {
      const std::uint64_t before = got[(offset - page) / kWord];
      const std::uint64_t expected = copy.Expected(offset);
      const std::uint64_t again = ReadWord(copy.At(offset));
      const char* ending = again == before ? "has the same wrong value, so it is not shown to be a "
                                             "hardware fault"
                           : again == expected ? "is right"
                                               : "is wrong in another way";
      Keep(again == before ? &not_shown_ : &faulty_, [&] {
        return what(offset) + DescribeWord(before, expected) +
               "; copied again on the same core it " + ending;
      });
    }
  }

  // Keeps the first text only, and makes no other: every word of a buffer may be wrong.
  template <class Fn>
  static void Keep(std::string* first, Fn text) {
    if (first->empty()) *first = text();
  }

  const Shared& shared_;
  const int core_;
  // The slice: bytes [begin_, end_) of every slot.
  const std::size_t begin_;
  const std::size_t end_;
  const Fault fault_;
  std::vector<char> scratch_;
  std::int64_t rounds_ = 0;
  std::int64_t mismatches_ = 0;
  Flow out_;
  Flow in_;
  std::chrono::nanoseconds worked_{0};
  std::chrono::nanoseconds passed_{0};
  std::string faulty_;
  std::string not_shown_;
};

OpReport Judge(const std::vector<SliceTest>& slices, std::size_t peers, Verdict verdict) {
  std::int64_t rounds = 0;
  std::int64_t bytes = 0;
  std::int64_t mismatches = 0;
  double out = 0;
  double in = 0;
  std::chrono::nanoseconds worked{0};
  std::chrono::nanoseconds passed{0};
  for (const SliceTest& slice : slices) {
    rounds = std::max(rounds, slice.rounds());
    bytes += slice.bytes();
    mismatches += slice.mismatches();
    out += slice.out_rate();
    in += slice.in_rate();
    worked = std::max(worked, slice.worked());
    passed = std::max(passed, slice.passed());
    verdict.AddFault(slice.faulty());
    verdict.AddNotRun(slice.not_shown());
  }
  if (rounds == 0) return verdict.Report("");
  char done[240];
  std::snprintf(done, sizeof done,
                "%zu %s, out %.1f GB/s, in %.1f GB/s, %.1f GB checked in %" PRId64
                " rounds, %s, %" PRId64 " mismatches",
                peers, peers == 1 ? "peer" : "peers", out / 1e9, in / 1e9,
                static_cast<double>(bytes) / 1e9, rounds, TimeText(worked, passed).c_str(),
                mismatches);
  return verdict.Report(done);
}

std::string NameOf(const GroupMember& member) {
  return "rank " + std::to_string(member.rank) + " (device " + std::to_string(member.device) + ")";
}

// Opens the buffers of the peers, in the order of the group beginning after `self`, so that not all
// devices begin with the same peer. Adds to `verdict` which could not be opened; the test goes on
// with the others.
std::vector<Peer> OpenPeers(const P2pGroup& group, const std::vector<std::string>& blobs,
                            Verdict* verdict) {
  const std::size_t count = group.members.size();
  const auto self = static_cast<std::size_t>(group.self);
  std::vector<Peer> peers;
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t place = (self + step) % count;
    const std::string name = NameOf(group.members[place]);
    base::Result<SharedBuffer> buffer = SharedBuffer::OpenPeer(blobs[place], count, place, self);
    if (!buffer.ok()) {
      verdict->AddNotRun("cannot use the buffer of " + name + ": " + buffer.status().text());
      continue;
    }
    peers.push_back(Peer{name, *std::move(buffer)});
  }
  return peers;
}

std::vector<int> UsedCores(const std::vector<int>& cores, std::size_t slot_bytes) {
  const std::size_t threads = std::min({cores.size(), kThreadsMax, slot_bytes / kPageBytes});
  return {cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(threads)};
}

// Where slice `i` of `count` of `bytes` begins, rounded to a page.
std::size_t SliceBegin(std::size_t bytes, std::size_t i, std::size_t count) {
  return bytes / kPageBytes * i / count * kPageBytes;
}

}  // namespace

Copies::Copies(CopiesTest test, P2pGroup group, SharedBuffer own, base::Status filled)
    : test_(std::move(test)),
      group_(std::move(group)),
      own_(std::move(own)),
      filled_(std::move(filled)) {}

base::Result<std::unique_ptr<Copies>> Copies::Prepare(CopiesTest test, const P2pGroup& group) {
  const std::size_t members = group.members.size();
  if (members < 2 || members > kMembersMax) {
    return base::InvalidError("a p2p test of the host needs 2 to " + std::to_string(kMembersMax) +
                              " devices, not " + std::to_string(members));
  }
  const auto self = static_cast<std::size_t>(group.self);
  base::Result<SharedBuffer> own = SharedBuffer::Create(members, self);
  if (!own.ok()) return own.status();

  auto* const words = reinterpret_cast<std::uint64_t*>(own->writable_source());
  const std::size_t threads = test.cores.size();
  const auto fill = [&](std::size_t i) {
    const std::size_t first = SliceBegin(kSourceBytes, i, threads) / sizeof(std::uint64_t);
    const std::size_t end = SliceBegin(kSourceBytes, i + 1, threads) / sizeof(std::uint64_t);
    for (std::size_t w = first; w < end; ++w) words[w] = PatternWord(own->seed(), w);
  };
  // Each thread writes only its own element.
  std::vector<char> filled(threads, 0);
  const base::Status ran = RunOnCores(test.cores, test.duration, "filling the buffer", nullptr,
                                      [&](std::size_t i, WorkClock*) {
                                        fill(i);
                                        filled[i] = 1;
                                      });
  const bool some_ran = std::find(filled.begin(), filled.end(), 1) != filled.end();
  if (!ran.ok() && !some_ran) return ran;
  // A core that cannot run must not keep the others from their test. Run reports it.
  for (std::size_t i = 0; i < threads; ++i) {
    if (filled[i] == 0) fill(i);
  }
  const std::size_t wrong = FindWrongWord(words, kSourceWords, own->seed(), 0);
  if (wrong < kSourceWords) {
    return base::InternalError("the buffer does not hold what was written to it, word " +
                               std::to_string(wrong) + " is " +
                               DescribeWord(ReadWord(own->source() + wrong * sizeof(std::uint64_t)),
                                            PatternWord(own->seed(), wrong)));
  }
  return std::unique_ptr<Copies>(new Copies(std::move(test), group, *std::move(own), ran));
}

OpReport Copies::Run(const std::vector<std::string>& blobs, Progress* progress) {
  Verdict verdict;
  const std::vector<Peer> peers = OpenPeers(group_, blobs, &verdict);
  const Shared shared{&own_, &peers, SlotBytes(group_.members.size()), test_.fault};
  const std::vector<int> cores = UsedCores(test_.cores, shared.slot_bytes);
  std::vector<SliceTest> slices;
  slices.reserve(cores.size());
  for (std::size_t i = 0; i < cores.size(); ++i) {
    slices.emplace_back(shared, cores[i], SliceBegin(shared.slot_bytes, i, cores.size()),
                        SliceBegin(shared.slot_bytes, i + 1, cores.size()), i == 0);
  }
  base::Status ran = filled_;
  if (!peers.empty()) {
    const base::Status tested =
        RunOnCores(cores, test_.duration, "copies between devices", progress,
                   [&](std::size_t i, WorkClock* clock) { slices[i].Run(clock); });
    if (!tested.ok()) ran = tested;
  }
  if (!ran.ok()) verdict.AddNotRun(ran.text());
  // A peer that begins late can open this buffer only while this process retains it. It can test it
  // even if this device could not open the buffer of the peer.
  const auto give_up = peers.empty() ? kUntestedWait : kLatePeerWait;
  WorkTime waited;
  while (!own_.OpenedOrGone(blobs) && waited.worked() < give_up) {
    progress->Report(99, "waiting for peers to begin");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    waited.Lap();
  }
  return Judge(slices, peers.size(), std::move(verdict));
}

}  // namespace assay::driver::host
