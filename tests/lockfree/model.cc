#include "tests/lockfree/model.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <unordered_set>

#if defined(__SANITIZE_ADDRESS__)
#define ASSAY_MODEL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASSAY_MODEL_ASAN 1
#endif
#endif
#ifdef ASSAY_MODEL_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace assay::lockfree::model {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr std::size_t kStepsMax = 20000;

struct Abandoned {};  // thrown into a thread that would sleep forever

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  std::function<void()> body;
  std::function<bool()> enabled;  // empty: always enabled
  std::uint64_t history = 0;
  Clock clock;
  bool done = false;
};

struct Decision {
  std::size_t choice;
  std::size_t options;
};

class Explorer {
 public:
  Findings Run(const std::function<void(Scenario*)>& set_up);

  void Stop(std::function<bool()> enabled);
  std::size_t Choose(std::size_t options);
  void Failed(const std::string& what);
  Fiber* self() { return self_ < fibers_.size() && in_thread_ ? &fibers_[self_] : nullptr; }
  std::size_t self_index() const { return in_thread_ ? self_ : 0; }

  std::vector<Shared*> shared;
  std::vector<std::pair<const char*, const char*>> retired;

 private:
  static void Enter();
  void RunOnce(const std::function<void(Scenario*)>& set_up);
  void Schedule();
  // Not inlined: a compiler warns of clobbered variables around a function that returns twice.
  [[gnu::noinline]] void Prepare(std::size_t index, std::function<void()> body);
  [[gnu::noinline]] void Resume(std::size_t index);
  [[gnu::noinline]] void SwitchToExplorer();
  std::size_t Decide(std::size_t options, std::uint64_t kind);
  std::uint64_t Situation(std::uint64_t kind) const;
  bool Backtrack();

  std::vector<Decision> path_;
  std::size_t depth_ = 0;
  bool pruned_ = false;
  bool abandoning_ = false;
  std::unordered_set<std::uint64_t> seen_;
  Findings findings_;

  std::vector<Fiber> fibers_;
  std::size_t self_ = 0;
  bool in_thread_ = false;
  ucontext_t explorer_context_;
#ifdef ASSAY_MODEL_ASAN
  const void* explorer_stack_ = nullptr;
  std::size_t explorer_stack_bytes_ = 0;
#endif
};

Explorer* explorer = nullptr;

std::uint64_t Explorer::Situation(std::uint64_t kind) const {
  Picture picture;
  picture.Add(kind);
  for (const Fiber& fiber : fibers_) {
    picture.Add(fiber.done ? 0 : fiber.history);
    if (!fiber.done) picture.Add(fiber.clock);
  }
  for (const Shared* object : shared) {
    picture.Add(object != nullptr);
    if (object != nullptr) object->AddTo(&picture);
  }
  return picture.Fingerprint();
}

std::size_t Explorer::Decide(std::size_t options, std::uint64_t kind) {
  if (options == 1) return 0;
  if (depth_ == path_.size()) {
    if (!pruned_ && !seen_.insert(Situation(kind)).second) pruned_ = true;
    path_.push_back({0, pruned_ ? 1 : options});
  }
  return path_[depth_++].choice;
}

std::size_t Explorer::Choose(std::size_t options) {
  const std::size_t choice = Decide(options, Mix(7, self_));
  fibers_[self_].history = Mix(fibers_[self_].history, choice);
  return choice;
}

void Explorer::Failed(const std::string& what) {
  if (!findings_.failure.empty()) return;
  std::ostringstream text;
  text << what << "; choices:";
  for (std::size_t i = 0; i < depth_; ++i) text << ' ' << path_[i].choice;
  findings_.failure = text.str();
}

void Explorer::Enter() {
#ifdef ASSAY_MODEL_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &explorer->explorer_stack_,
                                  &explorer->explorer_stack_bytes_);
#endif
  Fiber& fiber = explorer->fibers_[explorer->self_];
  try {
    fiber.body();
  } catch (const Abandoned&) {
  }
  fiber.done = true;
  explorer->SwitchToExplorer();
}

void Explorer::SwitchToExplorer() {
  Fiber& fiber = fibers_[self_];
  in_thread_ = false;
#ifdef ASSAY_MODEL_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(fiber.done ? nullptr : &fake_stack, explorer_stack_,
                                 explorer_stack_bytes_);
#endif
  swapcontext(&fiber.context, &explorer_context_);
#ifdef ASSAY_MODEL_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Explorer::Resume(std::size_t index) {
  self_ = index;
  in_thread_ = true;
  Fiber& fiber = fibers_[index];
  fiber.history = Mix(fiber.history, 11);  // one more operation
#ifdef ASSAY_MODEL_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, fiber.stack.get(), kStackBytes);
#endif
  swapcontext(&explorer_context_, &fiber.context);
#ifdef ASSAY_MODEL_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Explorer::Stop(std::function<bool()> enabled) {
  if (!in_thread_) return;
  Fiber& fiber = fibers_[self_];
  if (abandoning_) {
    if (enabled != nullptr && !enabled()) throw Abandoned();
    return;
  }
  fiber.enabled = std::move(enabled);
  SwitchToExplorer();
  const bool blocked = fiber.enabled != nullptr && !fiber.enabled();
  fiber.enabled = nullptr;
  if (blocked) throw Abandoned();
}

void Explorer::Schedule() {
  std::vector<std::size_t> enabled;
  for (std::size_t steps = 0;; ++steps) {
    enabled.clear();
    bool all_done = true;
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
      if (fibers_[i].done) continue;
      all_done = false;
      if (fibers_[i].enabled == nullptr || fibers_[i].enabled()) enabled.push_back(i);
    }
    if (all_done) return;
    if (enabled.empty() || steps == kStepsMax) {
      Failed(enabled.empty() ? "deadlock: all remaining threads sleep" : "too many steps");
      abandoning_ = true;
      for (std::size_t i = 0; i < fibers_.size(); ++i) {
        if (!fibers_[i].done) Resume(i);
      }
      return;
    }
    Resume(enabled[Decide(enabled.size(), 13)]);
  }
}

void Explorer::Prepare(std::size_t index, std::function<void()> body) {
  Fiber& fiber = fibers_[index];
  fiber.body = std::move(body);
  fiber.history = index;
  fiber.clock = {};
  fiber.clock.at[index] = 1;
  fiber.done = false;
  fiber.enabled = nullptr;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &Explorer::Enter, 0);
}

void Explorer::RunOnce(const std::function<void(Scenario*)>& set_up) {
  depth_ = 0;
  pruned_ = false;
  abandoning_ = false;
  {
    Scenario scenario;
    set_up(&scenario);
    if (scenario.threads.size() > kThreadsMax) std::abort();
    while (fibers_.size() < scenario.threads.size()) fibers_.emplace_back();
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
      Prepare(i, std::move(scenario.threads[i]));
    }
    scenario.threads.clear();
    Schedule();
    for (Fiber& fiber : fibers_) fiber.body = nullptr;
    if (findings_.failure.empty() && scenario.at_end != nullptr) scenario.at_end();
  }
  shared.clear();
  retired.clear();
}

bool Explorer::Backtrack() {
  path_.resize(depth_);
  while (!path_.empty() && path_.back().choice + 1 >= path_.back().options) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().choice;
  return true;
}

Findings Explorer::Run(const std::function<void(Scenario*)>& set_up) {
  do {
    RunOnce(set_up);
    ++findings_.runs;
  } while (findings_.failure.empty() && Backtrack());
  findings_.situations = seen_.size();
  return findings_;
}

void FailUnlessBefore(const Clock& earlier, const Clock& now) {
  for (std::size_t i = 0; i < kThreadsMax; ++i) {
    if (earlier.at[i] > now.at[i]) {
      explorer->Failed("data race with thread " + std::to_string(i));
      return;
    }
  }
}

}  // namespace

void Clock::Join(const Clock& other) {
  for (std::size_t i = 0; i < kThreadsMax; ++i) at[i] = std::max(at[i], other.at[i]);
}

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t mixed = hash ^ (value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2));
  mixed ^= mixed >> 33;
  mixed *= 0xff51afd7ed558ccdu;
  mixed ^= mixed >> 33;
  mixed *= 0xc4ceb9fe1a85ec53u;
  return mixed ^ (mixed >> 33);
}

std::uint64_t Picture::Fingerprint() {
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i < kThreadsMax; ++i) {
    values.clear();
    for (const Clock* clock : clocks_) values.push_back(clock->at[i]);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const Clock* clock : clocks_) {
      Add(static_cast<std::uint64_t>(std::lower_bound(values.begin(), values.end(), clock->at[i]) -
                                     values.begin()));
    }
  }
  return hash_;
}

Shared::Shared() : index_(0) {
  if (explorer == nullptr || explorer->self() != nullptr) return;
  explorer->shared.push_back(this);
  index_ = explorer->shared.size();
}

Shared::~Shared() {
  if (index_ != 0) explorer->shared[index_ - 1] = nullptr;
}

void Shared::Touch() const {
  if (explorer == nullptr || explorer->self() == nullptr) return;
  const char* here = reinterpret_cast<const char*>(this);
  for (const auto& range : explorer->retired) {
    if (here >= range.first && here < range.second) explorer->Failed("used after deletion");
  }
}

void Retire(const void* begin, std::size_t bytes) {
  const char* first = static_cast<const char*>(begin);
  for (Shared* object : explorer->shared) {
    const char* here = reinterpret_cast<const char*>(object);
    if (here >= first && here < first + bytes) object->End();
  }
  explorer->retired.emplace_back(first, first + bytes);
}

void Step() { explorer->Stop(nullptr); }
void BlockUntil(std::function<bool()> enabled) { explorer->Stop(std::move(enabled)); }
std::size_t Choose(std::size_t options) { return explorer->Choose(options); }
std::size_t Self() { return explorer->self_index(); }

void Observe(std::uint64_t seen) {
  if (Fiber* self = explorer->self()) self->history = Mix(self->history, seen);
}

void Forget(std::uint64_t state) {
  if (Fiber* self = explorer->self()) {
    self->history = Mix(Mix(17, explorer->self_index()), state);
  }
}

void Expect(bool holds, const char* what) {
  if (!holds) explorer->Failed(what);
}

void Read(Accesses& accesses) {
  Fiber* self = explorer->self();
  if (self == nullptr) return;
  FailUnlessBefore(accesses.written, self->clock);
  accesses.read.at[explorer->self_index()] = self->clock.at[explorer->self_index()];
}

void Write(Accesses& accesses) {
  Fiber* self = explorer->self();
  if (self == nullptr) return;
  FailUnlessBefore(accesses.written, self->clock);
  FailUnlessBefore(accesses.read, self->clock);
  accesses.written.at[explorer->self_index()] = self->clock.at[explorer->self_index()];
}

void ReleaseTo(Clock* clock) {
  Fiber* self = explorer->self();
  if (self == nullptr) return;
  clock->Join(self->clock);
  ++self->clock.at[explorer->self_index()];  // later operations are not released
}

void AcquireFrom(const Clock& clock) {
  if (Fiber* self = explorer->self()) self->clock.Join(clock);
}

Findings Explore(const std::function<void(Scenario*)>& set_up) {
  Explorer this_one;
  explorer = &this_one;
  Findings findings = this_one.Run(set_up);
  explorer = nullptr;
  return findings;
}

}  // namespace assay::lockfree::model
