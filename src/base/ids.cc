#include "base/ids.h"

#include <algorithm>

#include "base/text.h"

namespace assay::base {

std::optional<std::string> IdProblem(std::string_view what, std::string_view id) {
  const std::string name(what);
  if (id.empty()) return name + " id is empty";
  const std::string shown = name + " id " + Quoted(id);
  if (id.size() > kIdBytesMax) {
    return shown + " is " + std::to_string(id.size()) + " bytes long; at most " +
           std::to_string(kIdBytesMax) + " are allowed";
  }
  if (id.front() == ' ' || id.back() == ' ') return shown + " begins or ends with a space";
  for (std::string_view rest = id; !rest.empty();) {
    const int length = Utf8Length(rest);
    if (length <= 0) return shown + " is not valid UTF-8";
    if (IsControl(rest)) return shown + " contains a control character";
    rest.remove_prefix(static_cast<std::size_t>(length));
  }
  return std::nullopt;
}

std::optional<std::string> TextProblem(std::string_view field, std::string_view text) {
  const std::string name(field);
  if (text.size() > kTextBytesMax) {
    return name + " is " + std::to_string(text.size()) + " bytes long; the limit is " +
           std::to_string(kTextBytesMax);
  }
  if (Shown(text, 6 * kTextBytesMax) != text) {
    return name + " contains control characters: " + Quoted(text);
  }
  return std::nullopt;
}

std::string UnknownState(std::string_view state) {
  return "state " + Quoted(state) + " is not one of pending, running, complete, failed";
}

std::string List(const std::vector<std::int32_t>& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += ' ';
    text += std::to_string(numbers[i]);
  }
  return text + "]";
}

std::string List(const std::vector<std::string>& names, std::size_t max) {
  std::string text;
  const std::size_t shown = std::min(names.size(), max);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += Shown(names[i]);
  }
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

std::string Seconds(std::int64_t ms) {
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  if (ms < 1000) return std::to_string(ms) + " ms";
  const std::int64_t tenths = (ms + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace assay::base
