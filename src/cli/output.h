// Output of the commands: tables and JSON on standard output, errors on standard error. Internal to
// the commands.
#pragma once

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "admin.pb.h"
#include "base/status.h"
#include "cli/flags/flags.h"
#include "rank_table/rank_table.h"

namespace assay::cli {

using Json = nlohmann::ordered_json;

inline void PrintJson(const Json& json) {
  // Text from outside, such as a file name, may not be UTF-8. Invalid bytes are replaced; without
  // `replace`, dump() would throw.
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

// Prints "assay job apply: TEXT" on standard error; returns kExitFailed.
inline int Fail(const std::string& command, const base::Status& status) {
  std::cerr << command << ": " << status.text() << '\n';
  return flags::kExitFailed;
}

// [{"rank":0,"node":"a","device":0}, ...], as `job check` and `job show` print it.
Json RanksJson(const rank_table::RankTable& table);
Json RanksJson(const admin::Job& job);
Json JobJson(const admin::Job& job);
Json RunJson(const admin::Run& run);
Json ResultJson(const admin::Result& result);
Json NodeJson(const admin::Node& node);

}  // namespace assay::cli
