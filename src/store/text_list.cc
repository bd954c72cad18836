#include "store/text_list.h"

#include <nlohmann/json.hpp>

namespace assay::store {

std::string JoinTexts(const std::vector<std::string>& texts) {
  if (texts.empty()) return "[]";
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::vector<std::string>> SplitTexts(std::string_view json) {
  if (json == "[]") return std::vector<std::string>();
  const nlohmann::json list = nlohmann::json::parse(json, nullptr, false);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (const nlohmann::json& item : list) {
    if (!item.is_string()) return std::nullopt;
    texts.push_back(item.get_ref<const std::string&>());
  }
  return texts;
}

}  // namespace assay::store
