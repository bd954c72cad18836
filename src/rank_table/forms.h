// The readers for the forms of a rank table. Each reader walks its list and passes the entries to a
// builder. Internal to src/rank_table.
#pragma once

#include <string>
#include <string_view>

#include "rank_table/builder.h"
#include "rank_table/json_text.h"
#include "rank_table/objects.h"

namespace assay::rank_table {

// Each returns false after builder.Fail(), and sets the rules of the form in *rules.
// REQUIRES: the list is not kNull, and head.text passed CheckJson().
bool ReadServerList(const TableHead& head, TableBuilder& builder, TableRules* rules);
bool ReadGroupList(const TableHead& head, TableBuilder& builder, TableRules* rules);
bool ReadNodeList(const TableHead& head, TableBuilder& builder, TableRules* rules);
bool ReadRankList(const TableHead& head, TableBuilder& builder, TableRules* rules);

// Calls visit(index, element) for each element of a list. Fails unless the list has at least one
// element and all elements are objects. visit returns false to stop. label: the object that has the
// list ("": the outermost object), for messages.
template <class Visit>
bool ForEachObject(const JsonScalar& list, std::string_view key, const std::string& label,
                   std::string_view text, TableBuilder& builder, Visit&& visit) {
  const std::string name = (label.empty() ? label : label + ": ") + std::string(key);
  if (list.null()) return builder.Fail(name + " is missing");
  if (list.type != JsonType::kArray) {
    return builder.FailAt(list.offset, name + " is " + ValueText(list) + ", not an array");
  }
  std::size_t count = 0;
  const bool complete = JsonWalker(text, list.offset).Elements([&](std::size_t index, auto& value) {
    ++count;
    if (value.type() == JsonType::kObject) return visit(index, value);
    return builder.FailAt(value.offset(), name + " entry " + std::to_string(index) + " is " +
                                              std::string(WithArticle(value.type())) +
                                              ", not an object");
  });
  if (!complete) return false;
  return count > 0 || builder.FailAt(list.offset, name + " is empty");
}

}  // namespace assay::rank_table
