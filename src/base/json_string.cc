#include "base/json_string.h"

namespace assay::base {

void AppendJsonString(std::string_view utf8, std::string* json) {
  constexpr char kHex[] = "0123456789abcdef";
  json->push_back('"');
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      json->append("\\u00");
      json->push_back(kHex[byte >> 4]);
      json->push_back(kHex[byte & 15]);
      continue;
    }
    if (c == '"' || c == '\\') json->push_back('\\');
    json->push_back(c);
  }
  json->push_back('"');
}

}  // namespace assay::base
