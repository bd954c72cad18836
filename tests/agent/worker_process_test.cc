#include "agent/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace assay;
using namespace assay::agent;
using namespace assay::base;
using namespace assay::core;
using namespace assay::driver;

namespace {

constexpr auto kPatience = std::chrono::seconds(20);

WorkerSpec SimSpec(const std::string& plan) {
  WorkerSpec spec;
  spec.program = ASSAY_WORKER_FOR_TEST;
  spec.driver.kind = "sim";
  spec.driver.Set("sim-op-ms", 4);
  spec.driver.Set("sim", plan);
  return spec;
}

// A worker process and its events so far.
class Talk {
 public:
  explicit Talk(const WorkerSpec& spec) {
    Result<std::unique_ptr<WorkerProcess>> started = WorkerProcess::Start(spec);
    INFO(started.status().text());
    REQUIRE(started.ok());
    process_ = *std::move(started);
  }

  WorkerProcess& process() { return *process_; }
  const std::vector<WorkerEvent>& events() const { return events_; }
  void Send(const driver::ToWorker& message) { REQUIRE(process_->Send(message).ok()); }

  void Advance() {
    for (WorkerEvent& event : process_->Advance()) {
      CHECK_FALSE(Find<WorkerExited>().has_value());  // it must be the last event
      events_.push_back(std::move(event));
    }
  }

  template <class Body>
  std::optional<Body> Find() const {
    for (const WorkerEvent& event : events_) {
      if (const Body* body = std::get_if<Body>(&event)) return *body;
    }
    return std::nullopt;
  }

  // Waits for the first event of type Body, and discards it and all events before it.
  template <class Body>
  Body Take();

 private:
  std::unique_ptr<WorkerProcess> process_;
  std::vector<WorkerEvent> events_;
};

// Runs one event loop over all workers, as the agent does, until `done` or the timeout.
bool LoopUntil(const std::vector<Talk*>& talks, const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::vector<pollfd> looks;
    for (Talk* talk : talks) looks.push_back({talk->process().poll_fd(), POLLIN, 0});
    poll(looks.data(), looks.size(), 100);
    for (std::size_t i = 0; i < talks.size(); ++i) {
      if (looks[i].revents != 0) talks[i]->Advance();
    }
  }
  return true;
}

template <class Body>
Body Talk::Take() {
  REQUIRE(LoopUntil({this}, [this] { return Find<Body>().has_value(); }));
  const Body body = *Find<Body>();
  while (!std::holds_alternative<Body>(events_.front())) events_.erase(events_.begin());
  events_.erase(events_.begin());
  return body;
}

// Opens the device, runs aic, and returns how the process ended.
WorkerExited RunAicToTheEnd(const std::string& plan, std::int32_t device = 0) {
  Talk talk(SimSpec(plan));
  talk.Send(driver::OpenDevice{device});
  talk.Send(driver::RunAic{});
  return talk.Take<WorkerExited>();
}

bool Exists(pid_t pid) { return kill(pid, 0) == 0; }

int OpenDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a worker opens its device, runs the requested calls, and quits") {
  const int before = OpenDescriptors();
  {
    Talk talk(SimSpec("3:aic=faulty"));
    const pid_t pid = talk.process().pid();
    talk.Send(driver::ListDevices{});
    const auto listed = talk.Take<driver::DevicesListed>();
    CHECK(listed.error.empty());
    CHECK(listed.driver == "sim");
    CHECK(listed.devices.size() == 8);

    talk.Send(driver::OpenDevice{3});
    CHECK(talk.Take<driver::DeviceOpened>().error.empty());
    talk.Send(driver::RunAic{});
    CHECK(talk.Take<driver::OpStarted>().op == Op::kAic);
    const auto done = talk.Take<driver::OpDone>();
    CHECK(done.op == Op::kAic);
    CHECK(done.code == OutcomeCode::kFaulty);
    CHECK(done.detail == "sim: aic found a fault by plan");

    talk.Send(driver::MakeSafe{3});
    CHECK_FALSE(talk.Take<driver::MadeSafe>().voltage_changed);
    talk.Send(driver::Quit{});
    const auto exited = talk.Take<WorkerExited>();
    CHECK(exited.how == "exit status 0");
    CHECK_FALSE(exited.killed);
    CHECK(exited.call.empty());
    CHECK(talk.process().exited());
    CHECK_FALSE(Exists(pid));
    // Calls on an exited worker succeed and have no effect.
    CHECK(talk.process().Send(driver::RunAic{}).ok());
    talk.process().Kill();
    CHECK(talk.process().Advance().empty());
  }
  CHECK(OpenDescriptors() == before);
}

TEST_CASE("messages may be sent without waiting for the answers") {
  Talk talk(SimSpec(""));
  const driver::P2pGroup group{{{8, 0}}, 0};
  talk.Send(driver::OpenDevice{0});
  talk.Send(driver::RunAic{});
  talk.Send(driver::PrepareP2p{group});
  talk.Send(driver::RunP2p{group, {"sim rank 8 device 0"}});
  talk.Send(driver::Quit{});
  REQUIRE(LoopUntil({&talk}, [&] { return talk.Find<WorkerExited>().has_value(); }));
  std::vector<std::size_t> order;
  for (const WorkerEvent& event : talk.events()) {
    if (!std::holds_alternative<driver::OpProgress>(event)) order.push_back(event.index());
  }
  // Opened, started, done, prepared, started, done, exited.
  CHECK(order == std::vector<std::size_t>{1, 2, 4, 5, 2, 4, 7});
}

TEST_CASE("a worker answers a request it cannot perform with the reason") {
  Talk talk(SimSpec("1:open=fail"));
  talk.Send(driver::RunAic{});
  CHECK(talk.Take<driver::OpDone>().detail == "the device is not open");
  talk.Send(driver::OpenDevice{1});
  CHECK(talk.Take<driver::DeviceOpened>().error == "sim: opening fails by plan");
  talk.Send(driver::OpenDevice{9});
  CHECK(talk.Take<driver::DeviceOpened>().error ==
        "there is no device 9; --sim-devices=8 has 0 to 7");
  talk.Send(driver::OpenDevice{0});
  CHECK(talk.Take<driver::DeviceOpened>().error.empty());
  talk.Send(driver::OpenDevice{2});
  CHECK(talk.Take<driver::DeviceOpened>().error == "this worker already has an open device");

  const driver::P2pGroup group{{{8, 0}, {9, 1}}, 0};
  talk.Send(driver::RunP2p{group, {"", ""}});
  const auto unprepared = talk.Take<driver::OpDone>();
  CHECK(unprepared.code == OutcomeCode::kNotRun);
  CHECK(unprepared.detail == "the p2p test was not prepared with this group");
  talk.Send(driver::PrepareP2p{{{{8, 0}, {9, 1}}, 2}});
  CHECK(talk.Take<driver::P2pPrepared>().error == "this worker's index is outside the p2p group");
  talk.Send(driver::PrepareP2p{group});
  CHECK(talk.Take<driver::P2pPrepared>().error.empty());
  talk.Send(driver::RunP2p{group, {"only one blob"}});
  CHECK(talk.Take<driver::OpDone>().code == OutcomeCode::kNotRun);
}

TEST_CASE("every answer carries the error of a driver that cannot be created") {
  Talk talk(SimSpec("1:aic=broken"));
  talk.Send(driver::ListDevices{});
  const std::string error = talk.Take<driver::DevicesListed>().error;
  CHECK(error.find("'broken' is not an outcome of aic") != std::string::npos);
  talk.Send(driver::OpenDevice{1});
  CHECK(talk.Take<driver::DeviceOpened>().error == error);
  talk.Send(driver::RunAic{});
  CHECK(talk.Take<driver::OpDone>().code == OutcomeCode::kNotRun);
  talk.Send(driver::MakeSafe{1});
  CHECK(talk.Take<driver::MadeSafe>().voltage_changed);  // unknown counts as changed
}

TEST_CASE("WorkerExited reports a crash with signal, call and last output") {
  const WorkerExited exited = RunAicToTheEnd("0:aic=crash");
  CHECK(exited.signal == SIGSEGV);
  CHECK(exited.how == "signal 11");
  CHECK(exited.call == "aic");
  CHECK(exited.last_line == "sim: crash planned in aic");
  CHECK(exited.output == "sim: crash planned in aic\n");
  CHECK_FALSE(exited.killed);

  const WorkerExited opening = RunAicToTheEnd("2:open=crash", 2);
  CHECK(opening.signal == SIGSEGV);
  CHECK(opening.call == "open");
}

TEST_CASE("WorkerExited reports the exit status of a worker that exits by itself") {
  const WorkerExited exited = RunAicToTheEnd("0:aic=exit");
  CHECK(exited.signal == 0);
  CHECK(exited.status == 7);
  CHECK(exited.how == "exit status 7");
  CHECK(exited.call == "aic");
}

TEST_CASE("Kill ends a worker that hangs, and SIGTERM does not") {
  Talk talk(SimSpec("0:p2p=hang"));
  const driver::P2pGroup group{{{8, 0}}, 0};
  talk.Send(driver::OpenDevice{0});
  talk.Send(driver::PrepareP2p{group});
  talk.Send(driver::RunP2p{group, {"sim rank 8 device 0"}});
  talk.Take<driver::OpStarted>();
  // A service manager's SIGTERM does not end a test.
  CHECK(kill(talk.process().pid(), SIGTERM) == 0);
  CHECK(talk.process().Advance().empty());
  CHECK_FALSE(talk.process().exited());
  talk.process().Kill();
  talk.process().Kill();
  const auto exited = talk.Take<WorkerExited>();
  CHECK(exited.signal == SIGKILL);
  CHECK(exited.killed);
  CHECK(exited.call == "p2p");

  // Another process can find out whether the device is safe.
  Talk safe(SimSpec("0:p2p=hang"));
  safe.Send(driver::MakeSafe{0});
  CHECK_FALSE(safe.Take<driver::MadeSafe>().voltage_changed);
  Talk unsafe(SimSpec("0:p2p=hang_voltage"));
  unsafe.Send(driver::MakeSafe{0});
  CHECK(unsafe.Take<driver::MadeSafe>().voltage_changed);
}

TEST_CASE("a worker that sends an invalid frame is killed, and WorkerExited shows the frame") {
  const WorkerExited exited = RunAicToTheEnd("0:aic=garbage");
  CHECK(exited.killed);
  CHECK(exited.signal == SIGKILL);
  CHECK(exited.bad_frame == "not a frame: 74 68 69 73 20 69 73 20");
  CHECK(exited.call == "aic");
}

TEST_CASE("a flood on standard output and error is drained and only its end retained") {
  Talk talk(SimSpec("0:aic=spew"));
  talk.Send(driver::OpenDevice{0});
  talk.Send(driver::RunAic{});
  CHECK(talk.Take<driver::OpDone>().code == OutcomeCode::kOk);
  talk.Send(driver::Quit{});
  const auto exited = talk.Take<WorkerExited>();
  CHECK(exited.how == "exit status 0");
  CHECK(exited.output == std::string(1023, 'x') + '\n' + std::string(1023, 'x') + '\n' +
                             std::string(1023, 'x') + '\n' + std::string(1023, 'x') + '\n');
  CHECK(exited.last_line == std::string(297, 'x') + "...");
}

TEST_CASE("Send fails once a worker that does not read has too much unread") {
  Talk talk(SimSpec("0:open=hang"));
  talk.Send(driver::OpenDevice{0});
  const driver::P2pGroup group{{{0, 0}}, 0};
  const driver::RunP2p large{group, {std::string(1000000, 'x')}};
  int sent = 0;
  Status status;
  while (status.ok() && sent < 100) {
    status = talk.process().Send(large);
    ++sent;
  }
  CHECK(status.code() == Code::kExhausted);
  CHECK(sent < 10);
  talk.process().Kill();
  CHECK(talk.Take<WorkerExited>().call == "open");
}

TEST_CASE("a message larger than the pipe arrives in pieces") {
  Talk talk(SimSpec(""));
  const driver::P2pGroup group{{{0, 0}}, 0};
  talk.Send(driver::OpenDevice{0});
  talk.Send(driver::PrepareP2p{group});
  talk.Send(driver::RunP2p{group, {std::string(1000000, 'x')}});
  CHECK(talk.Take<driver::OpDone>().detail ==
        "sim: rank 0 supplied no connection data, or wrong data");
}

TEST_CASE("a missing program is named, and a program that is not a worker exits") {
  WorkerSpec spec = SimSpec("");
  spec.program = "/nonexistent/assay";
  const Status missing = WorkerProcess::Start(spec).status();
  CHECK(missing.code() == Code::kUnavailable);
  CHECK(missing.text() ==
        "cannot start worker /nonexistent/assay: exec: No such file or directory");

  spec.program = "/bin/false";
  Talk talk(spec);
  const auto exited = talk.Take<WorkerExited>();
  CHECK(exited.how == "exit status 1");
  CHECK(exited.call.empty());
}

TEST_CASE("a worker has its own environment and none of this process's descriptors") {
  int inherited[2];
  REQUIRE(pipe(inherited) == 0);  // not close-on-exec, as in a careless library
  setenv("ASSAY_TEST_VALUE", "the agent's", 1);
  WorkerSpec spec = SimSpec("");
  spec.env = {"ASSAY_TEST_VALUE=the worker's"};
  Talk talk(spec);
  talk.Send(driver::ListDevices{});
  talk.Take<driver::DevicesListed>();

  const std::string proc = "/proc/" + std::to_string(talk.process().pid());
  std::ifstream in(proc + "/environ", std::ios::binary);
  const std::string environ_text((std::istreambuf_iterator<char>(in)), {});
  CHECK(environ_text.find("ASSAY_TEST_VALUE=the worker's") != std::string::npos);
  CHECK(environ_text.find("ASSAY_TEST_VALUE=the agent's") == std::string::npos);
  for (int fd = 0; fd < 64; ++fd) {
    INFO(fd);
    char target[64] = {};
    const bool open =
        readlink((proc + "/fd/" + std::to_string(fd)).c_str(), target, sizeof target - 1) > 0;
    CHECK(open == (fd <= 4));
  }
  CHECK(getpgid(talk.process().pid()) == talk.process().pid());
  close(inherited[0]);
  close(inherited[1]);
  unsetenv("ASSAY_TEST_VALUE");
}

TEST_CASE("eight workers run at once and end in different ways") {
  const std::string plan =
      "1:aic=not_run,2:aic=faulty,3:aic=voltage,4:aic=crash,5:aic=exit,6:aic=hang,7:aic=garbage";
  std::vector<std::unique_ptr<Talk>> talks;
  std::vector<Talk*> all;
  for (std::int32_t device = 0; device < 8; ++device) {
    talks.push_back(std::make_unique<Talk>(SimSpec(plan)));
    all.push_back(talks.back().get());
    all.back()->Send(driver::OpenDevice{device});
    all.back()->Send(driver::RunAic{});
  }
  const auto settled = [&] {
    for (std::size_t i = 0; i < 8; ++i) {
      if (i == 6) continue;
      if (i < 4 ? !all[i]->Find<driver::OpDone>() : !all[i]->Find<WorkerExited>()) return false;
    }
    return all[6]->Find<driver::OpStarted>().has_value();
  };
  REQUIRE(LoopUntil(all, settled));
  const OutcomeCode codes[] = {OutcomeCode::kOk, OutcomeCode::kNotRun, OutcomeCode::kFaulty,
                               OutcomeCode::kVoltageNotRestored};
  for (std::size_t i = 0; i < 4; ++i) CHECK(all[i]->Find<driver::OpDone>()->code == codes[i]);
  CHECK(all[4]->Find<WorkerExited>()->signal == SIGSEGV);
  CHECK(all[5]->Find<WorkerExited>()->status == 7);
  CHECK(all[7]->Find<WorkerExited>()->killed);
  CHECK_FALSE(all[6]->process().exited());
  for (std::size_t i = 0; i < 4; ++i) all[i]->Send(driver::Quit{});
  all[6]->process().Kill();
  REQUIRE(LoopUntil(all, [&] {
    for (Talk* talk : all) {
      if (!talk->process().exited()) return false;
    }
    return true;
  }));
}

TEST_CASE("the host's p2p test runs between processes") {
  WorkerSpec spec;
  spec.program = ASSAY_WORKER_FOR_TEST;
  spec.driver.kind = "host";
  spec.driver.Set("host-devices", 3);
  spec.driver.Set("host-seconds", 100);
  spec.driver.Set("host-fault", "1:p2p=flip@1");
  const std::vector<driver::GroupMember> members = {{7, 0}, {8, 1}, {9, 2}};
  std::vector<std::unique_ptr<Talk>> talks;
  std::vector<Talk*> all;
  for (std::int32_t i = 0; i < 3; ++i) {
    talks.push_back(std::make_unique<Talk>(spec));
    all.push_back(talks.back().get());
    all.back()->Send(driver::OpenDevice{i});
    all.back()->Send(driver::PrepareP2p{{members, i}});
  }
  std::vector<std::string> blobs;
  for (Talk* talk : all) {
    const auto prepared = talk->Take<driver::P2pPrepared>();
    CHECK(prepared.error.empty());
    blobs.push_back(prepared.blob);
  }
  for (std::int32_t i = 0; i < 3; ++i) {
    all[static_cast<std::size_t>(i)]->Send(driver::RunP2p{{members, i}, blobs});
  }
  const OutcomeCode codes[] = {OutcomeCode::kOk, OutcomeCode::kFaulty, OutcomeCode::kOk};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto done = all[i]->Take<driver::OpDone>();
    INFO(done.detail);
    CHECK(done.code == codes[i]);
  }
}

TEST_CASE("workers die with the process that started them") {
  // This process adopts orphans, so that it can reap them.
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  int pipe_ends[2];
  REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
  const pid_t parent = fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    // The child plays the agent: one worker in a call, one idle. The parent kills it.
    std::vector<std::unique_ptr<WorkerProcess>> workers;
    for (int i = 0; i < 2; ++i) {
      Result<std::unique_ptr<WorkerProcess>> started = WorkerProcess::Start(SimSpec("0:open=hang"));
      if (!started.ok()) _exit(1);
      workers.push_back(*std::move(started));
      const pid_t pid = workers.back()->pid();
      if (write(pipe_ends[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    }
    if (!workers[0]->Send(driver::OpenDevice{0}).ok()) _exit(1);
    for (;;) pause();
  }
  close(pipe_ends[1]);
  pid_t workers[2];
  REQUIRE(read(pipe_ends[0], &workers[0], sizeof workers[0]) == sizeof workers[0]);
  REQUIRE(read(pipe_ends[0], &workers[1], sizeof workers[1]) == sizeof workers[1]);
  CHECK(Exists(workers[0]));
  CHECK(Exists(workers[1]));
  kill(parent, SIGKILL);
  CHECK(waitpid(parent, nullptr, 0) == parent);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (pid_t worker : workers) {
    int status = 0;
    pid_t reaped = 0;
    while (reaped == 0 && std::chrono::steady_clock::now() < give_up) {
      reaped = waitpid(worker, &status, WNOHANG);
      if (reaped == 0) poll(nullptr, 0, 10);
    }
    CHECK(reaped == worker);
    // Ended by the kernel's signal, or, if it had not set that up yet, by the closed pipe.
    CHECK(((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
           (WIFEXITED(status) && WEXITSTATUS(status) == 66)));
  }
  close(pipe_ends[0]);
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
}

TEST_CASE("destroying a WorkerProcess kills a worker that is busy") {
  pid_t pid = 0;
  {
    Talk talk(SimSpec("0:aic=hang"));
    pid = talk.process().pid();
    talk.Send(driver::OpenDevice{0});
    talk.Send(driver::RunAic{});
    talk.Take<driver::OpStarted>();
  }
  CHECK_FALSE(Exists(pid));
}
