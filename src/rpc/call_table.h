// The table of every call that the coordinator serves: one row per method of Recover, job.Job,
// Fleet and Admin. The gate (gate.h) reads from it how a call is admitted; docs/calls.md contains
// it (CallTableMarkdown).
//
// A new method of a .proto file needs a row here: a test compares the rows with protobuf's
// descriptors of the services.
//
// Thread safety: constants and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace assay::rpc {

// In the order of the table's rows.
enum class Call : std::uint8_t {
  kRecoverInit,
  kRecoverRegister,
  kRecoverSubscribeProcessManageSignal,
  kRecoverReportStopComplete,
  kRecoverReportRecoverStrategy,
  kRecoverReportRecoverStatus,
  kRecoverReportProcessFault,
  kRecoverHealthCheck,
  kRecoverStressTest,
  kRecoverSubscribeStressTestResponse,
  kRecoverSubscribeNotifyExecStressTest,
  kRecoverReplyStressTestResult,
  kJobRegister,
  kJobSubscribeJobSummarySignal,
  kJobSubscribeJobSummarySignalList,
  kFleetAttach,
  kAdminApplyJob,
  kAdminSetJobState,
  kAdminSetJobStates,
  kAdminDeleteJob,
  kAdminListJobs,
  kAdminGetJob,
  kAdminStartRun,
  kAdminCancelRun,
  kAdminListRuns,
  kAdminGetRun,
  kAdminListNodes,
  kAdminForgetNode,
};
inline constexpr std::size_t kCalls = 28;

enum class CallKind : std::uint8_t {
  kQuery,    // a read of the database, on the reader's thread
  kCommand,  // becomes an event of the control loop
  kOutcome,  // as kCommand, but never refused because many items wait: outcomes must not be lost
  kStream,   // a subscription
  kLink,     // the stream of an agent, in both directions
};

// The size class of a request, in bytes of the serialised message.
enum class RequestSize : std::uint8_t {
  kQuery,         // at most kSmallBytesMax
  kSubscription,  // at most kSmallBytesMax: one or two short strings
  kClient,        // at most kSmallBytesMax: a role and an id
  kLarge,         // at most kRequestBytesMax; above kLargeBytes parsed on a worker and counted
  kMessages,      // each message at most kRequestBytesMax; above kLargeBytes parsed on a worker
};
inline constexpr std::size_t kSmallBytesMax = std::size_t{64} << 10;
// Above this a message is parsed on a worker, not on gRPC's few threads.
inline constexpr std::size_t kLargeBytes = std::size_t{64} << 10;
// gRPC refuses larger messages. A reply of 65,536 ranks has up to 5.4 MB.
inline constexpr std::size_t kRequestBytesMax = std::size_t{16} << 20;
// Queries that may wait for the reader. Low, because each may read megabytes from disk.
inline constexpr std::size_t kQueriesMax = 1000;

// The roles that may make a call once certificates state them. Nothing enforces them yet.
enum class Role : std::uint8_t {
  kViewer,    // reads
  kOperator,  // commands at a shell, and everything that a viewer may do
  kPlatform,  // the O&M platform
  kTrainer,   // the training agent of a job
  kAgent,     // the node agent of Assay
};
inline constexpr int kRoles = 5;
std::string_view Name(Role role);

class RoleSet {
 public:
  constexpr RoleSet(std::initializer_list<Role> roles) {
    for (const Role role : roles) bits_ |= 1U << static_cast<unsigned>(role);
  }
  constexpr bool Has(Role role) const { return (bits_ >> static_cast<unsigned>(role) & 1U) != 0; }

 private:
  unsigned bits_ = 0;
};

struct CallRow {
  Call call;
  std::string_view service;  // with its package, as in the path of the call
  std::string_view method;
  CallKind kind;
  RequestSize size;
  RoleSet roles;
  std::string_view caller;  // who makes the call and what for, for docs/calls.md
  bool implemented = true;
};
std::span<const CallRow> CallRows();
const CallRow& RowOf(Call call);

// "Recover/StressTest".
std::string MethodName(const CallRow& row);

// The two tables of docs/calls.md: the calls, and the limits with their defaults.
std::string CallTableMarkdown();

}  // namespace assay::rpc
