#include "cli/state_lines.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "cli/flags/nearest.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "core/model.h"

namespace assay::cli {
namespace {

// Lines per call. The next call starts only when the previous one is answered, so the lines of a
// job stay in order; input that arrives meanwhile waits in the pipe.
constexpr std::size_t kCallLinesMax = 500;
constexpr int kWaitMs = 200;
// How long to retry a call that an overloaded coordinator refuses.
constexpr auto kOverloadPatience = std::chrono::seconds(60);
constexpr auto kOverloadPause = std::chrono::milliseconds(200);

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string StateProblem(const std::string& state) {
  static const std::vector<std::string> kStates = {"pending", "running", "complete", "failed"};
  std::string text = base::UnknownState(state);
  if (const auto near = flags::Nearest(state, kStates)) text += "; did you mean " + *near + "?";
  return text;
}

class StateSetter {
 public:
  StateSetter(std::string command, const std::string& coordinator)
      : command_(std::move(command)), client_(coordinator) {}

  // Returns false if a call failed, for example because the coordinator cannot be reached, or a
  // signal has arrived. Which lines were not sent has been reported.
  bool Set(const std::vector<StateLine>& lines) {
    for (std::size_t begin = 0; begin < lines.size(); begin += kCallLinesMax) {
      if (Interrupted()) {
        Say("interrupted; the lines from line " + std::to_string(lines[begin].number) +
            " on were not sent");
        return false;
      }
      const std::size_t end = std::min(lines.size(), begin + kCallLinesMax);
      if (!SetSome(&lines[begin], end - begin)) return false;
    }
    return true;
  }
  void Say(const std::string& text) const { cli::Say(command_, text); }
  int Finish(bool as_json, bool whole) const {
    if (as_json) {
      Json json{{"set", set_}, {"unchanged", unchanged_}, {"failed", failed_}};
      if (unknown_from_ != 0) json["unknown_from_line"] = unknown_from_;
      Print(JsonText(json, -1) + "\n");  // a single line, always the last one
    } else {
      Say(std::to_string(set_) + " set, " + std::to_string(unchanged_) + " unchanged, " +
          std::to_string(failed_) + " failed");
    }
    return whole && failed_ == 0 ? flags::kExitOk : flags::kExitFailed;
  }

 private:
  bool SetSome(const StateLine* lines, std::size_t count) {
    admin::SetJobStatesRequest request;
    std::vector<std::size_t> sent;  // index in the request -> index in `lines`
    std::map<std::size_t, std::string> problems;
    for (std::size_t i = 0; i < count; ++i) {
      if (!lines[i].problem.empty()) {
        problems.emplace(i, lines[i].problem);
        continue;
      }
      admin::SetJobStateRequest* const change = request.add_changes();
      change->set_id(lines[i].id);
      change->set_state(lines[i].state);
      sent.push_back(i);
    }
    base::Status status;
    if (!sent.empty()) status = Send(request, sent, &problems);
    for (const auto& [i, problem] : problems) {
      Say("line " + std::to_string(lines[i].number) + ": " + base::Shown(problem, 1000));
    }
    failed_ += problems.size();
    if (status.ok()) return true;
    unknown_from_ = lines[sent.front()].number;
    Say(status.text() + "; the result is unknown from line " + std::to_string(unknown_from_) +
        " on: send these lines again");
    return false;
  }

  base::Status Send(const admin::SetJobStatesRequest& request, const std::vector<std::size_t>& sent,
                    std::map<std::size_t, std::string>* problems) {
    const auto until = std::chrono::steady_clock::now() + kOverloadPatience;
    auto response = client_.Call(&admin::Admin::Stub::PrepareAsyncSetJobStates, request);
    // kExhausted refuses the whole call: no line of it was applied.
    while (response.status().code() == base::Code::kExhausted &&
           std::chrono::steady_clock::now() < until && !Interrupted()) {
      std::this_thread::sleep_for(kOverloadPause);
      response = client_.Call(&admin::Admin::Stub::PrepareAsyncSetJobStates, request);
    }
    if (!response.ok()) return response.status();
    set_ += response->set();
    unchanged_ += response->unchanged();
    for (const admin::StateFailure& failure : response->failures()) {
      const auto index = static_cast<std::size_t>(failure.index());
      if (index < sent.size()) problems->emplace(sent[index], failure.text());
    }
    return base::Status::Ok();
  }

  const std::string command_;
  Client client_;
  std::int64_t set_ = 0;
  std::int64_t unchanged_ = 0;
  std::size_t failed_ = 0;
  std::int64_t unknown_from_ = 0;
};

}  // namespace

std::optional<StateLine> ReadStateLine(const Line& line) {
  std::string_view text = line.text;
  if (line.number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text = Trimmed(text);
  if (text.empty() || text.front() == '#') return std::nullopt;
  StateLine read;
  read.number = line.number;
  if (line.too_long) {
    read.problem = "longer than " + std::to_string(kStateLineBytesMax) + " bytes";
    return read;
  }
  // The state is the last word: an id may contain blanks.
  const std::size_t blank = text.find_last_of(kBlanks);
  if (blank == std::string_view::npos) {
    read.problem = "expected ID STATE, found only " + base::Quoted(text);
    return read;
  }
  read.id = Trimmed(text.substr(0, blank));
  read.state = text.substr(blank + 1);
  if (const auto problem = base::IdProblem("job", read.id)) {
    read.problem = *problem;
  } else if (!core::JobStateFromName(read.state).has_value()) {
    read.problem = StateProblem(read.state);
  }
  return read;
}

int SetStatesFromInput(const std::string& command, const ClientFlags& client_flags) {
  CatchEndings();
  StateSetter setter(command, client_flags.coordinator);
  LineReader reader(STDIN_FILENO, kStateLineBytesMax);
  std::vector<Line> lines;
  std::vector<StateLine> wanted;
  while (!reader.ended()) {
    if (Interrupted()) {
      setter.Say("interrupted; the lines read so far have been processed");
      return setter.Finish(client_flags.json, false);
    }
    lines.clear();
    wanted.clear();
    const base::Status status = reader.Read(kWaitMs, &lines);
    for (const Line& line : lines) {
      if (auto read = ReadStateLine(line)) wanted.push_back(std::move(*read));
    }
    if (!setter.Set(wanted)) return setter.Finish(client_flags.json, false);
    if (!status.ok()) {
      setter.Say(status.text());
      return setter.Finish(client_flags.json, false);
    }
  }
  return setter.Finish(client_flags.json, true);
}

}  // namespace assay::cli
