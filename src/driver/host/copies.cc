#include "driver/host/copies.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "driver/host/cpu.h"

namespace assay::driver::host {
namespace {

// More threads than this do not increase the memory throughput.
constexpr std::size_t kThreadsMax = 16;
// How long a device that has finished retains its buffer for peers that have not begun.
constexpr auto kLatePeerWait = std::chrono::seconds(60);
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
  std::size_t place = 0;  // index in the group
  std::string name;       // "rank 3 (device 1)"
  SharedBuffer buffer;
};

// The inputs that all threads of a test read.
struct Shared {
  const SharedBuffer* own = nullptr;
  std::size_t self = 0;
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

  void Run(StopSign* stop) {
    // Reads copy into memory that this core touches first.
    scratch_.assign(end_ - begin_, 0);
    const auto begin = std::chrono::steady_clock::now();
    while (!stop->Seen(rounds_ + 1)) {
      ++rounds_;
      if (fault_.Is(FaultKind::kSource, rounds_)) FlipBit(SourceOf(*shared_.own, 0));
      for (std::size_t i = 0; i < shared_.peers->size() && !stop->Seen(rounds_); ++i) {
        WriteTo((*shared_.peers)[i], i, stop);
        ReadFrom((*shared_.peers)[i], i, stop);
      }
    }
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::int64_t rounds() const { return rounds_; }
  std::int64_t mismatches() const { return mismatches_; }
  std::int64_t bytes() const { return out_.bytes + in_.bytes; }
  double seconds() const { return seconds_; }
  double out_rate() const { return out_.Rate(); }
  double in_rate() const { return in_.Rate(); }
  const std::string& faulty() const { return faulty_; }
  const std::string& not_shown() const { return not_shown_; }

 private:
  struct Flow {
    std::int64_t bytes = 0;
    std::chrono::steady_clock::duration time{0};
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
  // The source of the first byte of this slice's copy for `peer`.
  char* SourceOf(const SharedBuffer& buffer, std::size_t peer) const {
    return buffer.source() + (Shift(peer) + begin_) % kSourceBytes;
  }

  void WriteTo(const Peer& peer, std::size_t index, StopSign* stop) {
    const Copy copy{shared_.own->source(), peer.buffer.slot(shared_.self), 0, shared_.own->seed(),
                    Shift(index)};
    Timed(copy, &out_);
    const bool first = index == 0;
    const bool stuck = first && fault_.Is(FaultKind::kStuck, rounds_);
    if (stuck || (first && fault_.Is(FaultKind::kFlip, rounds_))) FlipBit(copy.At(begin_));
    if (const auto at = FindMismatch(copy, begin_, end_)) {
      Examine(copy, *at, "to " + peer.name, true, stuck, stop);
    }
  }

  void ReadFrom(const Peer& peer, std::size_t index, StopSign* stop) {
    const Copy copy{peer.buffer.source(), scratch_.data(), begin_, peer.buffer.seed(),
                    Shift(index)};
    Timed(copy, &in_);
    if (const auto at = FindMismatch(copy, begin_, end_)) {
      Examine(copy, *at, "from " + peer.name, false, false, stop);
    }
  }

  void Timed(const Copy& copy, Flow* flow) const {
    const auto begin = std::chrono::steady_clock::now();
    Perform(copy, begin_, end_);
    flow->time += std::chrono::steady_clock::now() - begin;
    flow->bytes += static_cast<std::int64_t>(end_ - begin_);
  }

  void Examine(const Copy& copy, std::size_t at, const std::string& where, bool own_source,
               bool stuck, StopSign* stop) {
    ++mismatches_;
    const std::uint64_t expected = copy.Expected(at);
    const std::uint64_t got = ReadWord(copy.At(at));
    const std::string what = "core " + std::to_string(core_) + ": round " +
                             std::to_string(rounds_) + ", copy " + where + ", offset " +
                             std::to_string(at) + ": ";
    if (got == expected) {
      Faulty(what + "a word was wrong, and right when read again");
      return;
    }
    const char* source = copy.source + copy.SourceByte(at);
    const std::uint64_t in_source = ReadWord(source);
    if (in_source != expected && !own_source) {
      NotShown(what + "the peer's own buffer holds wrong data, " +
               DescribeWord(in_source, expected));
      return;
    }
    if (in_source != expected) {
      // Only this process writes to its source, and it read the word back after writing it. The
      // word stays wrong, so that the peers can tell whose fault it is.
      Faulty(what + "a word of this device's own buffer changed, " +
             DescribeWord(in_source, expected));
      return;
    }
    const std::size_t page = at / kPageBytes * kPageBytes;
    Perform(copy, page, page + kPageBytes);
    if (stuck) FlipBit(copy.At(begin_));
    const std::uint64_t again = ReadWord(copy.At(at));
    if (again == got) {
      NotShown(what + DescribeWord(got, expected) +
               "; copied again on the same core it has the same wrong value, so it is not shown to "
               "be a hardware fault");
      stop->Raise();
    } else {
      Faulty(what + DescribeWord(got, expected) + "; copied again on the same core it is " +
             (again == expected ? "right" : "wrong in another way"));
    }
  }

  void Faulty(std::string what) {
    if (faulty_.empty()) faulty_ = std::move(what);
  }
  void NotShown(std::string what) {
    if (not_shown_.empty()) not_shown_ = std::move(what);
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
  double seconds_ = 0;
  std::string faulty_;
  std::string not_shown_;
};

OpReport Judge(const std::vector<SliceTest>& slices, std::size_t peers) {
  std::int64_t rounds = 0;
  std::int64_t bytes = 0;
  std::int64_t mismatches = 0;
  double out = 0;
  double in = 0;
  double seconds = 0;
  std::string faulty;
  std::string not_shown;
  for (const SliceTest& slice : slices) {
    rounds = std::max(rounds, slice.rounds());
    bytes += slice.bytes();
    mismatches += slice.mismatches();
    out += slice.out_rate();
    in += slice.in_rate();
    seconds = std::max(seconds, slice.seconds());
    if (faulty.empty()) faulty = slice.faulty();
    if (not_shown.empty()) not_shown = slice.not_shown();
  }
  char done[240];
  std::snprintf(done, sizeof done,
                "%zu %s, out %.1f GB/s, in %.1f GB/s, %.1f GB checked in %" PRId64
                " rounds, %.1f s, %" PRId64 " mismatches",
                peers, peers == 1 ? "peer" : "peers", out / 1e9, in / 1e9,
                static_cast<double>(bytes) / 1e9, rounds, seconds, mismatches);
  if (!faulty.empty()) return {core::OutcomeCode::kFaulty, faulty + " (" + done + ")"};
  if (!not_shown.empty()) return {core::OutcomeCode::kNotRun, not_shown + " (" + done + ")"};
  return {core::OutcomeCode::kOk, done};
}

std::string NameOf(const GroupMember& member) {
  return "rank " + std::to_string(member.rank) + " (device " + std::to_string(member.device) + ")";
}

// Opens all peers' buffers, in the order of the group beginning after `self`, so that not all
// devices begin with the same peer.
base::Result<std::vector<Peer>> OpenPeers(const P2pGroup& group,
                                          const std::vector<std::string>& blobs) {
  const std::size_t count = group.members.size();
  const auto self = static_cast<std::size_t>(group.self);
  std::vector<Peer> peers;
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t place = (self + step) % count;
    const std::string name = NameOf(group.members[place]);
    base::Result<SharedBuffer> buffer = SharedBuffer::OpenPeer(blobs[place], count, place, self);
    if (!buffer.ok()) {
      return base::Status(buffer.status().code(),
                          "cannot use the buffer of " + name + ": " + buffer.status().text());
    }
    peers.push_back(Peer{place, name, *std::move(buffer)});
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

Copies::Copies(CopiesTest test, P2pGroup group, SharedBuffer own)
    : test_(std::move(test)), group_(std::move(group)), own_(std::move(own)) {}

base::Result<std::unique_ptr<Copies>> Copies::Prepare(CopiesTest test, const P2pGroup& group) {
  const std::size_t members = group.members.size();
  if (members < 2 || members > kMembersMax) {
    return base::InvalidError("a p2p test of the host needs 2 to " + std::to_string(kMembersMax) +
                              " devices, not " + std::to_string(members));
  }
  const auto self = static_cast<std::size_t>(group.self);
  base::Result<SharedBuffer> own = SharedBuffer::Create(members, self);
  if (!own.ok()) return own.status();

  const std::size_t slots_bytes = (members - 1) * SlotBytes(members);
  char* const slots = own->source() + kSourceBytes;
  auto* const words = reinterpret_cast<std::uint64_t*>(own->source());
  const std::size_t threads = test.cores.size();
  const base::Status filled = RunOnCores(
      test.cores, test.duration, "filling the buffer", nullptr, [&](std::size_t i, StopSign*) {
        const std::size_t first = SliceBegin(kSourceBytes, i, threads) / sizeof(std::uint64_t);
        const std::size_t end = SliceBegin(kSourceBytes, i + 1, threads) / sizeof(std::uint64_t);
        for (std::size_t w = first; w < end; ++w) words[w] = PatternWord(own->seed(), w);
        const std::size_t begin = SliceBegin(slots_bytes, i, threads);
        std::memset(slots + begin, 0, SliceBegin(slots_bytes, i + 1, threads) - begin);
      });
  if (!filled.ok()) return filled;
  const std::size_t wrong = FindWrongWord(words, kSourceWords, own->seed(), 0);
  if (wrong < kSourceWords) {
    return base::InternalError("the buffer does not hold what was written to it, word " +
                               std::to_string(wrong) + " is " +
                               DescribeWord(ReadWord(own->source() + wrong * sizeof(std::uint64_t)),
                                            PatternWord(own->seed(), wrong)));
  }
  return std::unique_ptr<Copies>(new Copies(std::move(test), group, *std::move(own)));
}

OpReport Copies::Run(const std::vector<std::string>& blobs, Progress* progress) {
  base::Result<std::vector<Peer>> peers = OpenPeers(group_, blobs);
  if (!peers.ok()) return {core::OutcomeCode::kNotRun, peers.status().text()};

  const Shared shared{&own_, static_cast<std::size_t>(group_.self), &*peers,
                      SlotBytes(group_.members.size()), test_.fault};
  const std::vector<int> cores = UsedCores(test_.cores, shared.slot_bytes);
  std::vector<SliceTest> slices;
  slices.reserve(cores.size());
  for (std::size_t i = 0; i < cores.size(); ++i) {
    slices.emplace_back(shared, cores[i], SliceBegin(shared.slot_bytes, i, cores.size()),
                        SliceBegin(shared.slot_bytes, i + 1, cores.size()), i == 0);
  }
  const base::Status ran = RunOnCores(cores, test_.duration, "copies between devices", progress,
                                      [&](std::size_t i, StopSign* stop) { slices[i].Run(stop); });
  if (!ran.ok()) return {core::OutcomeCode::kNotRun, ran.text()};
  // A peer that begins late can open this buffer only while this process retains it.
  const auto give_up = std::chrono::steady_clock::now() + kLatePeerWait;
  while (!own_.OpenedOrGone(blobs) && std::chrono::steady_clock::now() < give_up) {
    progress->Report(99, "waiting for peers to begin");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Judge(slices, peers->size());
}

}  // namespace assay::driver::host
