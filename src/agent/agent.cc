#include "agent/agent.h"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "agent/link.h"
#include "agent/loop.h"
#include "agent/node_facts.h"
#include "agent/state_folder.h"
#include "agent/workers.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/version.h"
#include "driver/driver_table.h"
#include "store/spool.h"
#include "wire/grpc_log.h"

namespace assay::agent {
namespace {

constexpr core::Ms kFqdnWait = 2'000;
constexpr core::Ms kInventoryWait = 60'000;

}  // namespace

// Member order matters: members are destroyed in reverse, so the loop goes before what it uses.
class Agent::Impl {
 public:
  explicit Impl(StateFolder folder) : folder_(std::move(folder)) {}

  ~Impl() {
    if (!thread_.joinable()) return;
    Post(AgentInput::Kind::kAbandon);
    thread_.join();
  }

  base::Status Open(const AgentOptions& options, std::string target) {
    base::Result<std::unique_ptr<store::Spool>> spool =
        store::Spool::Open(folder_.File("agent.db"));
    if (!spool.ok()) return spool.status();
    spool_ = std::move(spool).value();
    base::Result<core::node::Spooled> spooled = spool_->Load();
    if (!spooled.ok()) return spooled.status();

    core::Node self = MachineFacts(kFqdnWait);
    self.name = options.node.empty() ? self.host_name : options.node;
    self.identity = spool_->identity();
    self.version = base::Version();
    if (const std::optional<std::string> problem = base::IdProblem("node", self.name)) {
      return base::InvalidError("--node: " + *problem);
    }
    node_ = self.name;

    WorkerSpec worker;
    worker.driver = options.driver;
    worker.program = options.program;
    base::Result<const driver::DriverEntry*> driver = driver::FindDriver(options.driver);
    if (!driver.ok()) return driver.status();
    worker.env.assign((*driver)->worker_env.begin(), (*driver)->worker_env.end());
    base::Status status = AskInventory(worker, kInventoryWait, &self);
    if (!status.ok()) return status;
    base::LogInfo("node " + node_ + ": " + std::to_string(self.devices.size()) +
                  " devices of the driver " + self.driver + "; state in " + options.state_dir);

    LinkOptions link;
    link.target = std::move(target);
    link.shown = options.coordinator;
    link.node = node_;
    const LoopOptions loop{options.stop_grace, options.commit_timeout};
    loop_ = std::make_unique<AgentLoop>(loop, std::move(self), std::move(spooled).value(),
                                        std::move(link), std::move(worker), spool_.get(), inbox_);
    return base::Status::Ok();
  }

  base::Status Run() {
    return base::StartThread(&thread_, "the agent", "agent", [this] {
      loop_->Run();
      loop_.reset();  // on this thread: a worker dies with the thread that started it
      done_.set_value();
    });
  }

  void Post(AgentInput::Kind kind) {
    (void)inbox_->Post(AgentInput{kind, false, 0});  // fails only when the loop has stopped
  }

  bool Wait(int timeout_ms) const {
    return stopped_.wait_for(std::chrono::milliseconds(timeout_ms)) == std::future_status::ready;
  }

  const std::string& node() const { return node_; }

 private:
  const StateFolder folder_;
  std::unique_ptr<store::Spool> spool_;
  const std::shared_ptr<AgentInbox> inbox_ = std::make_shared<AgentInbox>();
  std::string node_;
  std::unique_ptr<AgentLoop> loop_;
  std::promise<void> done_;
  std::future<void> stopped_ = done_.get_future();
  std::thread thread_;
};

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Agent::~Agent() = default;

base::Result<std::unique_ptr<Agent>> Agent::Start(const AgentOptions& options) {
  wire::QuietGrpc();
  base::Result<std::string> target = CoordinatorTarget(options.coordinator);
  if (!target.ok()) return target.status();
  if (options.stop_grace < 0) return base::InvalidError("--stop-grace must not be negative");
  base::Result<StateFolder> folder = StateFolder::Take(options.state_dir);
  if (!folder.ok()) return folder.status();
  auto impl = std::make_unique<Impl>(std::move(folder).value());
  base::Status status = impl->Open(options, std::move(target).value());
  if (status.ok()) status = impl->Run();
  if (!status.ok()) return status;
  return std::unique_ptr<Agent>(new Agent(std::move(impl)));
}

void Agent::RequestStop() { impl_->Post(AgentInput::Kind::kStop); }
void Agent::ForceStop() { impl_->Post(AgentInput::Kind::kForceStop); }
bool Agent::Wait(int timeout_ms) { return impl_->Wait(timeout_ms); }
const std::string& Agent::node() const { return impl_->node(); }

}  // namespace assay::agent
