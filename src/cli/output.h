// Output of the commands: tables and JSON on standard output, messages on standard error. Commands
// print with nothing else (tests/tidy/rules.py), so that text from a coordinator never reaches a
// terminal raw: a control character or one that changes the writing direction becomes an escape
// sequence.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "admin.pb.h"
#include "base/status.h"
#include "cli/flags/flags.h"
#include "rank_table/rank_table.h"

namespace assay::cli {

using Json = nlohmann::ordered_json;

// The text without control characters but newlines, which separate lines. Bytes that are not UTF-8
// become \xff, the other characters \u001b, as base::Shown() writes them.
std::string Visible(std::string_view text);

// Prints on standard output. `text` has its own newlines.
void Print(std::string_view text);
// The document with `indent` blanks for each level, or in one line if it is negative. Control
// characters are escaped also where JSON allows them raw (U+009B, U+202E).
std::string JsonText(const Json& json, int indent);
// Prints the document and a newline on standard output.
void PrintJson(const Json& json);
// Writes what Print() has buffered. Returns whether all of it could be written.
bool FlushOutput();

// Prints a line on standard error. A newline in `text` is a control character.
void Tell(std::string_view text);
// Prints the line "assay job apply: TEXT" on standard error.
void Say(const std::string& command, std::string_view text);
// Prints the line "assay job apply: TEXT" on standard error; returns kExitFailed.
int Fail(const std::string& command, const base::Status& status);
// Prints a question on standard error and leaves the cursor behind it.
void Ask(std::string_view text);
// Replaces the line of the cursor of a terminal on standard error.
void Redraw(std::string_view text);

// [{"rank":0,"node":"a","device":0}, ...], as `job check` and `job show` print it.
Json RanksJson(const rank_table::RankTable& table);
Json RanksJson(const admin::Job& job);
Json JobJson(const admin::Job& job);
Json RunJson(const admin::Run& run);
Json ResultJson(const admin::Result& result);
Json NodeJson(const admin::Node& node);

}  // namespace assay::cli
