// Writes log lines for the operator to standard error: `2026-01-02T03:04:05.678Z W text` (systemd's
// journal adds the rest).
//
// A line names the job, node, run or file. The caller logs a repeating condition once; nothing is
// filtered here.
// Thread safety: any thread. The sink writes under a lock of its own, so the lock-free path must
// not log.
#pragma once

#include <string_view>

namespace assay::base {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

void SetLogLevel(LogLevel level);
void Log(LogLevel level, std::string_view text);
inline void LogDebug(std::string_view text) { Log(LogLevel::kDebug, text); }
inline void LogInfo(std::string_view text) { Log(LogLevel::kInfo, text); }
inline void LogWarn(std::string_view text) { Log(LogLevel::kWarn, text); }
inline void LogError(std::string_view text) { Log(LogLevel::kError, text); }

}  // namespace assay::base
