#include "tests/support/durable_text.h"

#include <sstream>

namespace assay::support {
namespace {

// The length before each text distinguishes ("a", "b c") from ("a b", "c").
struct Quoted {
  const std::string& text;
};
std::ostream& operator<<(std::ostream& out, const Quoted& quoted) {
  return out << quoted.text.size() << ":'" << quoted.text << '\'';
}

void Write(std::ostream& out, const core::Job& job) {
  const core::JobSpec& spec = job.spec;
  out << "job " << Quoted{spec.id} << ' ' << Quoted{spec.name} << ' ' << Quoted{spec.name_space}
      << ' ' << Quoted{spec.framework} << ' ' << Quoted{spec.master_addr} << ' '
      << Quoted{spec.shared_tor_ip} << ' ' << Name(job.state) << " created " << job.created
      << " updated " << job.updated << " ended " << job.ended << " trainer " << job.has_trainer
      << " last_run " << job.last_run << " last_reply " << job.last_reply << " owing_until "
      << job.owing_until << "\n  text " << Quoted{job.table_text} << '\n';
  for (const rank_table::TableNode& node : job.table->nodes) {
    out << "  node " << Quoted{node.name};
    for (const std::string& alias : node.aliases) out << ' ' << Quoted{alias};
    out << '\n';
  }
  for (const rank_table::RankPlace& place : job.table->ranks) {
    out << "  rank " << place.rank << " device " << place.device << " node " << place.node << '\n';
  }
  for (const std::string& warning : job.table->warnings)
    out << "  warning " << Quoted{warning} << '\n';
}

void Write(std::ostream& out, const core::DeletedJob& job) {
  const core::JobSpec& spec = job.spec;
  out << "deleted job " << Quoted{spec.id} << ' ' << Quoted{spec.name} << ' '
      << Quoted{spec.name_space} << ' ' << Quoted{spec.framework} << ' ' << Quoted{spec.master_addr}
      << ' ' << Quoted{spec.shared_tor_ip} << ' ' << Name(job.state) << " created " << job.created
      << " deleted " << job.deleted << ' ' << Quoted{*job.hccl} << '\n';
}

void Write(std::ostream& out, const core::RankTest& test) {
  out << "  rank " << test.rank << " device " << test.device << " part " << test.part << " ops "
      << int{test.ops.bits()} << " begun " << int{test.begun.bits()} << " answered "
      << int{test.answered.bits()} << " deadline " << test.deadline << '\n';
  for (const core::Op op : test.answered) {
    const core::Outcome& outcome = test.outcomes[op];
    out << "    " << Name(op) << ' ' << Name(outcome.code) << ' ' << outcome.started << ' '
        << outcome.finished << ' ' << Quoted{outcome.detail} << '\n';
  }
}

void Write(std::ostream& out, const core::Run& run) {
  out << "run " << run.id << ' ' << Quoted{run.job} << ' ' << Name(run.executor) << ' '
      << Name(run.state) << " ops " << int{run.ops.bits()} << " created " << run.created
      << " notify_after " << run.notify_after << " start_by " << run.start_by << " started "
      << run.started << " deadline " << run.deadline << " ended " << run.ended << " cancelled "
      << run.cancelled << " ranks " << run.rank_count << " expected " << run.expected << " open "
      << run.open << ' ' << Quoted{run.message} << '\n';
  for (const core::Part& part : run.parts) {
    out << "  part " << Quoted{part.node} << ' ' << Quoted{part.agent} << ' '
        << Quoted{part.identity} << ' ' << Name(part.state) << '\n';
  }
  for (const core::RankTest& test : run.ranks) Write(out, test);
}

void Write(std::ostream& out, const core::Node& node) {
  out << "node " << Quoted{node.name} << ' ' << Quoted{node.identity} << ' ' << Quoted{node.version}
      << ' ' << Quoted{node.host_name} << ' ' << Quoted{node.fqdn} << ' ' << Quoted{node.driver}
      << " attached " << node.attached << " since " << node.since;
  for (const std::string& address : node.addresses) out << ' ' << Quoted{address};
  out << '\n';
  for (const core::DeviceInfo& device : node.devices) {
    out << "  device " << device.index << ' ' << Quoted{device.kind} << ' ' << Quoted{device.detail}
        << '\n';
  }
}

}  // namespace

std::string DurableText(const core::Durable& durable) {
  std::ostringstream out;
  for (const auto& [id, job] : durable.jobs) Write(out, job);
  for (const auto& [id, job] : durable.deleted) Write(out, job);
  for (const auto& [id, file] : durable.job_files) {
    out << "file of job " << Quoted{id} << ' ' << Quoted{file.fingerprint} << " owner "
        << file.owner << '\n';
  }
  for (const auto& [id, run] : durable.runs) Write(out, run);
  for (const auto& [name, node] : durable.nodes) Write(out, node);
  for (const auto& [key, run] : durable.leases) {
    out << "lease " << Quoted{key.node} << ' ' << key.device << ' ' << run << '\n';
  }
  out << "next_run " << durable.next_run << '\n';
  return out.str();
}

std::string FirstDifference(const std::string& is, const std::string& should_be) {
  if (is == should_be) return "";
  std::istringstream lines_is(is);
  std::istringstream lines_should(should_be);
  std::string line_is;
  std::string line_should;
  int number = 0;
  while (line_is == line_should && (lines_is || lines_should)) {
    line_is = "(end)";
    line_should = "(end)";
    std::getline(lines_is, line_is);
    std::getline(lines_should, line_should);
    ++number;
  }
  return "line " + std::to_string(number) + " is: " + line_is.substr(0, 400) +
         "\nshould be: " + line_should.substr(0, 400);
}

}  // namespace assay::support
