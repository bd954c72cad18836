#include "rpc/call_table.h"

#include <array>
#include <cassert>

#include "control/intake.h"

namespace assay::rpc {
namespace {

constexpr std::string_view kRecover = "Recover";
constexpr std::string_view kJob = "job.Job";
constexpr std::string_view kFleet = "assay.fleet.Fleet";
constexpr std::string_view kAdmin = "assay.admin.Admin";

constexpr RoleSet kViewers = {Role::kViewer, Role::kOperator};
constexpr RoleSet kOperators = {Role::kOperator};
constexpr RoleSet kPlatforms = {Role::kPlatform};
// `assay watch jobs` follows the states of jobs as platforms do.
constexpr RoleSet kWatchers = {Role::kViewer, Role::kOperator, Role::kPlatform};
constexpr RoleSet kTrainers = {Role::kTrainer};
constexpr RoleSet kAgents = {Role::kAgent};

// Calls of process recovery, which this version does not implement.
constexpr CallRow Recovery(Call call, std::string_view method, std::string_view caller) {
  return {call,      kRecover, method, CallKind::kCommand, RequestSize::kLarge,
          kTrainers, caller,   false};
}

constexpr std::array<CallRow, kCalls> kRows = {{
    Recovery(Call::kRecoverInit, "Init", "training agent: before Register"),
    Recovery(Call::kRecoverRegister, "Register", "training agent: offers process recovery"),
    {Call::kRecoverSubscribeProcessManageSignal, kRecover, "SubscribeProcessManageSignal",
     CallKind::kStream, RequestSize::kSubscription, kTrainers,
     "training agent: receives pause, resume and stop", false},
    Recovery(Call::kRecoverReportStopComplete, "ReportStopComplete",
             "training agent: training processes have stopped"),
    Recovery(Call::kRecoverReportRecoverStrategy, "ReportRecoverStrategy",
             "training agent: strategies that it offers"),
    Recovery(Call::kRecoverReportRecoverStatus, "ReportRecoverStatus",
             "training agent: result of a strategy"),
    Recovery(Call::kRecoverReportProcessFault, "ReportProcessFault",
             "training agent: a training process has failed"),
    Recovery(Call::kRecoverHealthCheck, "HealthCheck", "training agent: is the server there"),
    {Call::kRecoverStressTest, kRecover, "StressTest", CallKind::kCommand, RequestSize::kLarge,
     kPlatforms, "platform: starts a stress test"},
    {Call::kRecoverSubscribeStressTestResponse, kRecover, "SubscribeStressTestResponse",
     CallKind::kStream, RequestSize::kSubscription, kPlatforms, "platform: waits for the result"},
    {Call::kRecoverSubscribeNotifyExecStressTest, kRecover, "SubscribeNotifyExecStressTest",
     CallKind::kStream, RequestSize::kSubscription, kTrainers,
     "training agent: waits for stress tests to execute"},
    {Call::kRecoverReplyStressTestResult, kRecover, "ReplyStressTestResult", CallKind::kOutcome,
     RequestSize::kLarge, kTrainers, "training agent: reports outcomes"},
    {Call::kJobRegister, kJob, "Register", CallKind::kCommand, RequestSize::kClient, kWatchers,
     "platform, `assay watch jobs`: gets an id for its subscription"},
    {Call::kJobSubscribeJobSummarySignal, kJob, "SubscribeJobSummarySignal", CallKind::kStream,
     RequestSize::kClient, kWatchers, "platform: follows the states of all jobs, one by one"},
    {Call::kJobSubscribeJobSummarySignalList, kJob, "SubscribeJobSummarySignalList",
     CallKind::kStream, RequestSize::kClient, kWatchers,
     "platform, `assay watch jobs`: follows the states of all jobs, in lists"},
    {Call::kFleetAttach, kFleet, "Attach", CallKind::kLink, RequestSize::kMessages, kAgents,
     "node agent: attaches its node"},
    {Call::kAdminApplyJob, kAdmin, "ApplyJob", CallKind::kCommand, RequestSize::kLarge, kOperators,
     "operator: defines a job by its rank table"},
    {Call::kAdminSetJobState, kAdmin, "SetJobState", CallKind::kCommand, RequestSize::kLarge,
     kOperators, "operator: sets the state of a job"},
    {Call::kAdminSetJobStates, kAdmin, "SetJobStates", CallKind::kCommand, RequestSize::kLarge,
     kOperators, "operator: sets the states of many jobs"},
    {Call::kAdminDeleteJob, kAdmin, "DeleteJob", CallKind::kCommand, RequestSize::kLarge,
     kOperators, "operator: deletes a job"},
    {Call::kAdminListJobs, kAdmin, "ListJobs", CallKind::kQuery, RequestSize::kQuery, kViewers,
     "operator: lists jobs"},
    {Call::kAdminGetJob, kAdmin, "GetJob", CallKind::kQuery, RequestSize::kQuery, kViewers,
     "operator: shows a job with its ranks"},
    {Call::kAdminStartRun, kAdmin, "StartRun", CallKind::kCommand, RequestSize::kLarge, kOperators,
     "operator: starts a stress test, or checks where it would run"},
    {Call::kAdminCancelRun, kAdmin, "CancelRun", CallKind::kCommand, RequestSize::kLarge,
     kOperators, "operator: cancels a run"},
    {Call::kAdminListRuns, kAdmin, "ListRuns", CallKind::kQuery, RequestSize::kQuery, kViewers,
     "operator: lists runs"},
    {Call::kAdminGetRun, kAdmin, "GetRun", CallKind::kQuery, RequestSize::kQuery, kViewers,
     "operator: shows a run and its results"},
    {Call::kAdminListNodes, kAdmin, "ListNodes", CallKind::kQuery, RequestSize::kQuery, kViewers,
     "operator: lists nodes and devices"},
    {Call::kAdminForgetNode, kAdmin, "ForgetNode", CallKind::kCommand, RequestSize::kLarge,
     kOperators, "operator: removes a node that is gone"},
}};

constexpr bool EveryRowIsAtItsPlace() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].call) != i) return false;
  }
  return true;
}
static_assert(EveryRowIsAtItsPlace());

constexpr std::string_view kRoleNames[kRoles] = {"viewer", "operator", "platform", "trainer",
                                                 "agent"};

std::string_view Name(CallKind kind) {
  constexpr std::string_view kNames[] = {"query", "command", "outcome", "stream", "link"};
  return kNames[static_cast<std::size_t>(kind)];
}

// 100000 -> "100,000".
std::string Number(std::int64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t end = text.size(); end > 3;) text.insert(end -= 3, ",");
  return text;
}

std::string MiB(std::int64_t bytes) { return Number(bytes >> 20) + " MiB"; }

std::string LimitsOf(const CallRow& row) {
  if (!row.implemented) return "none: answers UNIMPLEMENTED";
  std::string limits = row.size == RequestSize::kLarge || row.size == RequestSize::kMessages
                           ? "request bytes"
                           : "small request";
  switch (row.kind) {
    case CallKind::kQuery:
      return limits + ", waiting queries, calls";
    case CallKind::kCommand:
      if (row.size == RequestSize::kLarge) limits += ", large requests";
      return limits + ", waiting items, calls";
    case CallKind::kOutcome:
      return limits + ", large outcomes, calls";
    case CallKind::kStream:
      return limits + ", subscriptions";
    case CallKind::kLink:
      return limits + ", agents";
  }
  return limits;
}

std::string RolesOf(const CallRow& row) {
  std::string roles;
  for (int i = 0; i < kRoles; ++i) {
    if (!row.roles.Has(static_cast<Role>(i))) continue;
    roles += (roles.empty() ? "" : ", ") + std::string(kRoleNames[i]);
  }
  return roles;
}

void AddLimit(std::string_view limit, const std::string& value, std::string_view over,
              std::string* page) {
  page->append("| ").append(limit).append(" | ").append(value).append(" | ").append(over).append(
      " |\n");
}

}  // namespace

std::string_view Name(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

std::span<const CallRow> CallRows() { return kRows; }

const CallRow& RowOf(Call call) {
  assert(static_cast<std::size_t>(call) < kRows.size());
  return kRows[static_cast<std::size_t>(call)];
}

std::string MethodName(const CallRow& row) {
  return std::string(row.service) + "/" + std::string(row.method);
}

std::string CallTableMarkdown() {
  std::string page =
      "| call | kind | who calls it | limits | roles (not enforced yet) |\n"
      "|---|---|---|---|---|\n";
  for (const CallRow& row : kRows) {
    page += "| `" + MethodName(row) + "` | " + std::string(Name(row.kind)) + " | " +
            std::string(row.caller) + " | " + LimitsOf(row) + " | " + RolesOf(row) + " |\n";
  }
  const control::IntakeLimits limits;
  page +=
      "\n| limit | default | above it |\n"
      "|---|---|---|\n";
  const std::string exhausted = "RESOURCE_EXHAUSTED";
  AddLimit("small request", Number(kSmallBytesMax >> 10) + " KiB in one request",
           "INVALID_ARGUMENT", &page);
  AddLimit("request bytes", MiB(kRequestBytesMax) + " in one message", exhausted, &page);
  AddLimit("large requests",
           MiB(limits.request_bytes_max) + " in all requests above " + Number(kLargeBytes >> 10) +
               " KiB that are in progress",
           exhausted, &page);
  AddLimit("large outcomes", MiB(limits.outcome_bytes_max) + ", the large requests included",
           exhausted, &page);
  AddLimit("waiting items",
           Number(static_cast<std::int64_t>(limits.mailbox_max)) + " before the control loop",
           exhausted, &page);
  AddLimit("waiting queries", Number(kQueriesMax) + " before the reader", exhausted, &page);
  AddLimit("calls", Number(limits.calls_max) + " in progress", exhausted, &page);
  AddLimit("subscriptions", Number(limits.streams_max) + " streams", exhausted, &page);
  AddLimit("agents", Number(limits.links_max) + " links", exhausted, &page);
  return page;
}

}  // namespace assay::rpc
