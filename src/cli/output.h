// What commands print: tables and JSON on standard output, problems on standard error. Internal to
// the commands.
#pragma once

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "admin.pb.h"
#include "base/status.h"
#include "cli/flags/flags.h"
#include "rank_table/rank_table.h"

namespace assay {

using Json = nlohmann::ordered_json;

inline void PrintJson(const Json& json) {
  // Foreign text may not be UTF-8 (a file's name); it is replaced, never an exception.
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

// "assay job apply: TEXT"; returns kExitFailed.
inline int Fail(const std::string& command, const Status& status) {
  std::cerr << command << ": " << status.text() << '\n';
  return kExitFailed;
}

// [{"rank":0,"node":"a","device":0}, ...], as `job check` and `job show` have it.
Json RanksJson(const RankTable& table);
Json RanksJson(const admin::Job& job);
Json JobJson(const admin::Job& job);
Json RunJson(const admin::Run& run);
Json ResultJson(const admin::Result& result);
Json NodeJson(const admin::Node& node);

}  // namespace assay
