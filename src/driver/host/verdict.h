// Combines what the parts of a test found (cores, peers, directions) into the outcome of the op.
//
//   faulty   a part proved a hardware fault, even if other parts could not run
//   not_run  no part proved a fault, and at least one could not run or not prove what it found
//   ok       neither
//
// The detail names the fault, the reasons of the other parts, and what was done.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "driver/driver.h"

namespace assay::driver::host {

class Verdict {
 public:
  // Both ignore an empty text, so that a caller can pass what a part found without a check.
  void AddFault(std::string_view what) {
    if (fault_.empty()) fault_ = what;
  }
  void AddNotRun(std::string_view reason) {
    if (reason.empty() || ++reasons_ > kReasonsShown) return;
    if (!reason_.empty()) reason_ += "; ";
    reason_ += reason;
  }

  // `done` describes the work that was completed, and may be empty.
  OpReport Report(std::string_view done) const {
    OpReport report;
    if (!fault_.empty()) {
      report.code = core::OutcomeCode::kFaulty;
    } else if (reasons_ > 0) {
      report.code = core::OutcomeCode::kNotRun;
    } else {
      report.detail = done;
      return report;
    }
    report.detail = fault_;
    if (!fault_.empty() && reasons_ > 0) report.detail += "; also: ";
    report.detail += reason_;
    if (reasons_ > kReasonsShown) {
      report.detail += "; and " + std::to_string(reasons_ - kReasonsShown) + " more reasons";
    }
    if (!done.empty()) report.detail.append(" (").append(done).append(")");
    return report;
  }

 private:
  static constexpr std::size_t kReasonsShown = 3;

  std::string fault_;   // the first
  std::string reason_;  // the first kReasonsShown
  std::size_t reasons_ = 0;
};

}  // namespace assay::driver::host
