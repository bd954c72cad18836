#include "core/cluster/clients.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/cluster_world.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::support;
using Catch::Matchers::Contains;

namespace {

struct ClientsWorld : World {
  explicit ClientsWorld(const Settings& settings = {}) : World(settings) {}
  Answer Register(const std::string& client, const std::string& role = "CCAgent") {
    Step(ClientRegistered{NextId(), {}, role, client});
    return Last<Answer>().at(0);
  }
  StreamId Follow(const std::string& client, const std::string& role = "CCAgent",
                  Topic topic = Topic::kSignal) {
    const StreamId id = NextId();
    Step(StreamOpened{id, topic, {}, "", client, role});
    return id;
  }
  void Close(StreamId id) { Step(StreamClosed{id}); }
  bool Attached(StreamId id) const {
    return Last<AttachStream>().size() == 1 && Last<AttachStream>()[0].stream == id;
  }
  Status Ended(StreamId id) const {
    for (const EndStream& end : Last<EndStream>()) {
      if (end.stream == id) return end.status;
    }
    return Status::Ok();
  }
};

}  // namespace

TEST_CASE("a client registers and subscribes with its id") {
  ClientsWorld world;
  const Answer answer = world.Register("c");
  CHECK(answer.verdict == Verdict::kAccepted);
  CHECK(answer.text == "registration successful");
  const StreamId stream = world.Follow("c");
  CHECK(world.Attached(stream));
  CHECK(world.Last<AttachStream>()[0].topic == Topic::kSignal);
  CHECK(world.Last<AttachStream>()[0].job.empty());
}

TEST_CASE("a role outside the whitelist is refused with the interface's text") {
  ClientsWorld world;
  const Answer answer = world.Register("c", "Other");
  CHECK(answer.verdict == Verdict::kDenied);
  CHECK(answer.text == "role:Other is not in whitelist");
  CHECK(world.Register("c", "").verdict == Verdict::kDenied);
  CHECK(world.Register("c", std::string(20'000, 'r')).text.size() < 1000);
  for (const char* role : {"CCAgent", "DefaultUser1", "DefaultUser2", "FdAgent"}) {
    CHECK(world.Register(role, role).verdict == Verdict::kAccepted);
  }
}

TEST_CASE("subscribing with an unknown id or with another role is refused") {
  ClientsWorld world;
  const StreamId unknown = world.Follow("unknown");
  CHECK(world.Ended(unknown).code() == Code::kNotFound);
  CHECK(world.Ended(unknown).text() == "invalid clientId: unknown, please register first");
  world.Register("c", "CCAgent");
  const StreamId other = world.Follow("c", "FdAgent");
  CHECK(world.Ended(other).code() == Code::kDenied);
  CHECK(world.Ended(other).text() == "invalid role: FdAgent, please check role first");
  // The refusals leave the registered id usable.
  CHECK(world.Attached(world.Follow("c", "CCAgent")));
}

TEST_CASE("a newer subscription replaces the older one of the same id") {
  ClientsWorld world;
  world.Register("c");
  const StreamId first = world.Follow("c");
  const StreamId second = world.Follow("c", "CCAgent", Topic::kSignalList);
  CHECK(world.Ended(first).code() == Code::kReplaced);
  CHECK_THAT(world.Ended(first).text(), Contains("clientId c"));
  CHECK(world.Attached(second));
  // Closing the first stream does not affect the second.
  world.Close(first);
  world.Let(700'000);
  const StreamId third = world.Follow("c");
  CHECK(world.Attached(third));
  CHECK(world.Ended(second).code() == Code::kReplaced);
}

TEST_CASE("the later of two subscriptions wins in whatever order they arrive") {
  ClientsWorld world;
  world.Register("c");
  const StreamId earlier = world.NextId();
  const StreamId later = world.Follow("c");
  world.Step(StreamOpened{earlier, Topic::kSignal, {}, "", "c", "CCAgent"});
  CHECK(world.Ended(earlier).code() == Code::kReplaced);
  CHECK(world.Ended(later).ok());
}

TEST_CASE("an id without a stream is retained for ten minutes") {
  ClientsWorld world;
  world.Register("c");
  world.Let(599'000);
  const StreamId stream = world.Follow("c");
  REQUIRE(world.Attached(stream));
  // With a stream it never expires.
  world.Let(10'000'000);
  world.Close(stream);
  world.Let(599'000);
  const StreamId again = world.Follow("c");
  REQUIRE(world.Attached(again));
  world.Close(again);
  CHECK(world.cluster().NextDeadline(world.now()) <= world.now() + 600'000);
  world.Let(600'000);
  CHECK(world.Ended(world.Follow("c")).code() == Code::kNotFound);
}

TEST_CASE("the limit on subscriptions refuses new streams and registrations") {
  Settings settings;
  settings.subscriptions_max = 2;
  ClientsWorld world(settings);
  for (const char* client : {"a", "b", "c"})
    REQUIRE(world.Register(client).verdict == Verdict::kAccepted);
  const StreamId a = world.Follow("a");
  world.Follow("b");
  const StreamId refused = world.Follow("c");
  CHECK(world.Ended(refused).code() == Code::kExhausted);
  const Answer full = world.Register("d");
  CHECK(full.verdict == Verdict::kLimitReached);
  // A client that replaces its own stream is not refused.
  const StreamId again = world.Follow("a");
  CHECK(world.Attached(again));
  CHECK(world.Ended(a).code() == Code::kReplaced);
  world.Close(again);
  CHECK(world.Attached(world.Follow("c")));
  world.Close(world.Follow("unknown"));

  CHECK(world.Register("d").verdict == Verdict::kLimitReached);  // two subscriptions are open again
}

TEST_CASE("at the limit of ids a new one evicts the one idle longest, never one with a stream") {
  Settings settings;
  settings.clients_max = 2;
  ClientsWorld world(settings);
  REQUIRE(world.Register("a").verdict == Verdict::kAccepted);
  world.Pass(1);
  REQUIRE(world.Register("b").verdict == Verdict::kAccepted);
  world.Pass(1);
  REQUIRE(world.Register("c").verdict == Verdict::kAccepted);
  CHECK(world.Ended(world.Follow("a")).code() == Code::kNotFound);
  CHECK(world.Attached(world.Follow("b")));
  CHECK(world.Attached(world.Follow("c")));
  // Ids with a stream are not evicted.
  CHECK(world.Register("d").verdict == Verdict::kLimitReached);
  CHECK_THAT(world.Last<Answer>()[0].text, Contains("max client num is 2"));
}

TEST_CASE("a restart invalidates all ids") {
  ClientsWorld world;
  world.Register("c");
  world.Restart();
  CHECK(world.Ended(world.Follow("c")).code() == Code::kNotFound);
}
