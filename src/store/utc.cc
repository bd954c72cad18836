#include "store/utc.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace assay::store {

std::string UtcText(core::Ms time) {
  const core::Ms bounded = std::clamp<core::Ms>(time, -62'167'219'200'000, 253'402'300'799'999);
  core::Ms seconds = bounded / 1000;
  core::Ms rest = bounded % 1000;
  if (rest < 0) {
    rest += 1000;
    seconds -= 1;
  }
  const auto clock = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&clock, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(rest));
  return text;
}

}  // namespace assay::store
