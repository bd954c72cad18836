#include "rank_table/builder.h"

#include <algorithm>

#include "base/ip_address.h"
#include "base/number.h"
#include "base/text.h"
#include "rank_table/json_writer.h"

namespace assay::rank_table {
namespace {

constexpr std::size_t kDocumentedCharacters = 64;  // of a server_id
constexpr std::size_t kNameCharacters = 4096;

// Whether the name is an unfilled template value ([server_id], <ip>, ${NODE}, {{ node }}) or an
// address masked for publication (10.*.*.*).
bool LooksLikePlaceholder(std::string_view name) {
  if (name.find('*') != std::string_view::npos) return true;
  if (name.size() < 3) return false;
  const std::string_view inside = name.substr(1, name.size() - 2);
  if (name.front() == '[' && name.back() == ']') return !base::IsIpAddress(inside);
  if (name.front() == '<' && name.back() == '>') return true;
  return name.back() == '}' && (name.front() == '{' || name.substr(0, 2) == "${");
}

bool HasControl(std::string_view utf8) {
  while (!utf8.empty()) {
    if (base::IsControl(utf8)) return true;
    utf8.remove_prefix(static_cast<std::size_t>(base::Utf8Length(utf8)));
  }
  return false;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

enum class NumberKind { kNumber, kOutOfRange, kOther };

NumberKind ParseNumber(std::string_view text, std::uint64_t max, std::uint64_t* number) {
  const bool negative = !text.empty() && text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (!IsDigits(digits)) return NumberKind::kOther;
  if (negative) return NumberKind::kOutOfRange;
  const std::optional<std::uint64_t> parsed = base::ParseNumber<std::uint64_t>(digits);
  if (!parsed || *parsed > max) return NumberKind::kOutOfRange;
  *number = *parsed;
  return NumberKind::kNumber;
}

// Whether every machine has the name: it does not tell which machine is meant.
bool IsLoopback(std::string_view name) {
  if (base::IsIpv4Address(name)) return name.substr(0, 4) == "127.";
  return name == "::1" || name == "localhost" || name == "localhost.localdomain";
}

std::string After(const std::string& label) { return label.empty() ? label : label + ": "; }

}  // namespace

std::string_view TrimBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string ValueText(const JsonScalar& value) {
  if (value.type == JsonType::kString) return base::Quoted(value.Text());
  if (value.type == JsonType::kNumber) return base::Shown(value.raw);
  return std::string(WithArticle(value.type));
}

bool TableBuilder::Fail(std::string text) {
  if (error_.empty()) error_ = std::move(text);
  return false;
}

bool TableBuilder::FailAt(std::size_t offset, const std::string& text) {
  return Fail("line " + std::to_string(LineAt(text_, offset)) + ": " + text);
}

bool TableBuilder::Number(const JsonScalar& value, std::string_view key, const std::string& label,
                          std::uint64_t max, std::uint64_t* number) {
  std::string text = After(label) + std::string(key) + ' ';
  NumberKind kind = NumberKind::kOther;
  const bool scalar = value.type == JsonType::kString || value.type == JsonType::kNumber;
  if (scalar) kind = ParseNumber(value.raw, max, number);
  if (kind == NumberKind::kNumber) return true;
  if (kind == NumberKind::kOutOfRange) {
    text += assay::base::Shown(value.raw) + " out of range 0.." + std::to_string(max);
  } else if (scalar) {
    text += ValueText(value) + " is not a whole number";
  } else {
    text += "is " + ValueText(value) + ", not a whole number";
  }
  return FailAt(value.offset, text);
}

bool TableBuilder::DeclaredCount(const JsonScalar& value, std::string_view key,
                                 const std::string& label, std::size_t actual,
                                 const std::string& has) {
  if (value.null()) return true;
  std::uint64_t declared = 0;
  if (!Number(value, key, label, UINT32_MAX, &declared)) return false;
  if (declared == actual) return true;
  return FailAt(value.offset, After(label) + std::string(key) + " is " + std::to_string(declared) +
                                  " but " + has);
}

bool TableBuilder::ReadName(const JsonScalar& value, std::string_view key, const std::string& label,
                            std::string* text) {
  const std::string field = label + ": " + std::string(key) + ' ';
  const std::string written = value.Text();
  *text = TrimBlanks(written);
  if (text->find(' ') != std::string::npos && !LooksLikePlaceholder(*text)) {
    return FailAt(value.offset,
                  field + base::Quoted(*text) + " contains a blank: write one name or one address");
  }
  if (text->size() == written.size()) return true;
  trimmed_.Add(field + base::Quoted(written) + " has blanks around it, read as " +
               base::Quoted(*text));
  JsonWriter literal("");
  literal.String(*text);
  corrections_.push_back({value.offset, value.raw.size() + 2, literal.Take()});
  return true;
}

bool TableBuilder::ReadNodeName(std::span<const NamedField> fields, const std::string& label,
                                NodeName* name) {
  for (const auto& [key, value] : fields) {
    if (value->null()) continue;
    // An id may also be written as an integer.
    const bool integer = value->type == JsonType::kNumber && IsDigits(value->raw);
    const std::string field = label + ": " + std::string(key) + ' ';
    if (value->type != JsonType::kString && !integer) {
      return FailAt(value->offset, field + "is " + ValueText(*value) + ", not a string");
    }
    std::string text;
    if (!ReadName(*value, key, label, &text)) return false;
    const std::size_t characters = base::CharacterCount(text);
    const std::string length = std::to_string(characters) + " characters long";
    if (characters > kNameCharacters) {
      return FailAt(value->offset, field + base::Quoted(text) + " is " + length + ", more than " +
                                       std::to_string(kNameCharacters));
    }
    if (HasControl(text)) {
      return FailAt(value->offset, field + base::Quoted(text) + " contains a control character");
    }
    if (characters > kDocumentedCharacters) {
      long_names_.Add(field + base::Quoted(text) + " is " + length + ", more than the documented " +
                      std::to_string(kDocumentedCharacters));
    }
    if (name->text.empty()) *name = {key, std::move(text)};
  }
  return true;
}

std::uint32_t TableBuilder::AddNode(const NodeName& name, std::size_t offset) {
  const std::size_t entry = entries_++;
  const auto added_node = static_cast<std::uint32_t>(nodes_.size());
  const auto [found, added] = node_of_name_.try_emplace(name.text, added_node);
  if (added) {
    nodes_.push_back({name.text, {}});
    entry_of_node_.push_back(entry);
    if (IsLoopback(name.text)) {
      loopbacks_.Add(std::string(name.key) + ' ' + base::Quoted(name.text) +
                     " is the same on every machine and names none: write the name or an address "
                     "of the node, as `assay node list` prints them");
    }
    if (LooksLikePlaceholder(name.text)) {
      placeholders_.Add(std::string(name.key) + ' ' + base::Quoted(name.text) +
                        " looks like an unfilled placeholder");
    }
  } else if (!repeated_) {
    repeated_ = {name, entry_of_node_[found->second], entry, offset};
  }
  return found->second;
}

void TableBuilder::AddHostAddress(std::uint32_t node, std::string_view address) {
  address = TrimBlanks(address);
  if (!address.empty()) host_addresses_.emplace_back(address, node);
}

bool TableBuilder::AddRank(std::uint32_t node, const JsonScalar& rank, const JsonScalar& device,
                           bool device_optional, std::size_t offset) {
  std::uint64_t number = 0;
  Place place{-1, -1, node, -1, offset};
  if (!device.null()) {
    if (!Number(device, "device_id", Shown(node), max_device_id_, &number)) return false;
    place.device = static_cast<std::int32_t>(number);
  } else if (!device_optional) {
    return FailAt(offset, Shown(node) + ": device_id is missing");
  }
  if (!rank.null()) {
    if (!Number(rank, "rank_id", Shown(place), limits_.ranks - 1, &number)) return false;
    place.rank = static_cast<std::int32_t>(number);
  }
  if (places_.size() == limits_.ranks) {
    return FailAt(offset, "more than " + base::Count(limits_.ranks, "rank", "ranks"));
  }
  places_.push_back(place);
  return true;
}

std::string TableBuilder::CorrectedText() {
  if (corrections_.empty()) return "";
  std::sort(corrections_.begin(), corrections_.end(),
            [](const Correction& a, const Correction& b) { return a.offset < b.offset; });
  std::string text;
  std::size_t copied = 0;
  for (const Correction& correction : corrections_) {
    text += text_.substr(copied, correction.offset - copied);
    text += correction.replacement;
    copied = correction.offset + correction.length;
  }
  return text += text_.substr(copied);
}

std::int32_t TableBuilder::LowestRankFrom(std::size_t first) const {
  std::int32_t lowest = places_[first].rank;
  for (std::size_t i = first; i < places_.size(); ++i) lowest = std::min(lowest, places_[i].rank);
  return lowest;
}

std::string TableBuilder::Shown(std::uint32_t node) const {
  const std::string& name = nodes_[node].name;
  return name.empty() ? "unknown node" : assay::base::Shown(name);
}

std::string TableBuilder::Shown(const Place& place) const {
  if (place.device < 0) return Shown(place.node) + " without device";
  return Shown(place.node) + " device " + std::to_string(place.device);
}

}  // namespace assay::rank_table
