#include "driver/message.h"

#include <map>
#include <type_traits>
#include <utility>

namespace assay::driver {
namespace {

// The frame types of the two directions do not overlap, so a message on the wrong pipe is refused.
constexpr std::uint8_t kToWorkerBase = 0x10;
constexpr std::uint8_t kFromWorkerBase = 0x80;

class Writer {
 public:
  template <class... Field>
  void operator()(const Field&... field) {
    (Put(field), ...);
  }
  std::string Take() { return std::move(out_); }

 private:
  void PutU32(std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) out_ += static_cast<char>(value >> shift);
  }
  void Put(std::int32_t value) { PutU32(static_cast<std::uint32_t>(value)); }
  void Put(bool value) { out_ += value ? '\1' : '\0'; }
  void Put(core::Op value) { out_ += static_cast<char>(value); }
  void Put(core::OutcomeCode value) { out_ += static_cast<char>(value); }
  void Put(const std::string& value) {
    PutU32(static_cast<std::uint32_t>(value.size()));
    out_ += value;
  }
  void Put(const GroupMember& value) { (*this)(value.rank, value.device); }
  void Put(const ListedDevice& value) { (*this)(value.device, value.kind, value.detail); }
  template <class T>
  void Put(const std::vector<T>& values) {
    PutU32(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) Put(value);
  }
  void Put(const std::map<std::string, std::string>& values) {
    PutU32(static_cast<std::uint32_t>(values.size()));
    for (const auto& [name, value] : values) (*this)(name, value);
  }

  std::string out_;
};

// After the first field that cannot be read, ok() is false and the values of the fields are
// meaningless.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  template <class... Field>
  void operator()(Field&... field) {
    (Get(&field), ...);
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return in_.empty(); }

 private:
  std::string_view Bytes(std::size_t size) {
    if (!ok_ || in_.size() < size) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = in_.substr(0, size);
    in_.remove_prefix(size);
    return bytes;
  }
  std::uint32_t U32() {
    const std::string_view bytes = Bytes(4);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= std::uint32_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
    }
    return value;
  }
  std::uint8_t U8() {
    const std::string_view bytes = Bytes(1);
    return bytes.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes[0]);
  }
  void Get(std::int32_t* value) { *value = static_cast<std::int32_t>(U32()); }
  void Get(bool* value) {
    const std::uint8_t byte = U8();
    if (byte > 1) ok_ = false;
    *value = byte == 1;
  }
  void Get(core::Op* value) {
    const auto op = core::OpFromWire(U8());
    if (!op) ok_ = false;
    *value = op.value_or(core::Op::kAic);
  }
  void Get(core::OutcomeCode* value) {
    const auto code = core::OutcomeCodeFromInt(U8());
    if (!code) ok_ = false;
    *value = code.value_or(core::OutcomeCode::kNotRun);
  }
  void Get(std::string* value) { *value = std::string(Bytes(U32())); }
  void Get(GroupMember* value) { (*this)(value->rank, value->device); }
  void Get(ListedDevice* value) { (*this)(value->device, value->kind, value->detail); }
  template <class T>
  void Get(std::vector<T>* values) {
    const std::uint32_t count = U32();
    values->clear();
    // Every element takes some bytes, so a wrong count stops at the end of the bytes.
    for (std::uint32_t i = 0; i < count && ok_; ++i) Get(&values->emplace_back());
  }
  void Get(std::map<std::string, std::string>* values) {
    const std::uint32_t count = U32();
    values->clear();
    for (std::uint32_t i = 0; i < count && ok_; ++i) {
      std::string name;
      std::string value;
      (*this)(name, value);
      if (!values->emplace(std::move(name), std::move(value)).second) ok_ = false;
    }
  }

  std::string_view in_;
  bool ok_ = true;
};

template <class Variant>
base::Result<std::string> EncodeVariant(const Variant& message, std::uint8_t base) {
  Writer writer;
  std::visit([&](const auto& body) { std::remove_cvref_t<decltype(body)>::Fields(body, writer); },
             message);
  const std::string payload = writer.Take();
  if (payload.size() > kFramePayloadMax) {
    return base::ExhaustedError("a message of " + std::to_string(payload.size()) +
                                " bytes does not fit into a frame of at most " +
                                std::to_string(kFramePayloadMax));
  }
  return EncodeFrame(static_cast<std::uint8_t>(base + message.index()), payload);
}

template <class Variant, std::size_t kIndex = 0>
base::Result<Variant> DecodeAt(std::size_t index, const Frame& frame) {
  if constexpr (kIndex == std::variant_size_v<Variant>) {
    return base::InvalidError("frame of unknown type " + std::to_string(frame.type));
  } else {
    if (index != kIndex) return DecodeAt<Variant, kIndex + 1>(index, frame);
    std::variant_alternative_t<kIndex, Variant> body;
    Reader reader(frame.payload);
    decltype(body)::Fields(body, reader);
    if (!reader.ok() || !reader.AtEnd()) {
      return base::InvalidError("frame of type " + std::to_string(frame.type) + " with " +
                                std::to_string(frame.payload.size()) +
                                " bytes that are not a valid message of that type");
    }
    return Variant(std::move(body));
  }
}

// `type` below `base` wraps to an index that no variant has.
std::size_t Index(std::uint8_t type, std::uint8_t base) {
  return static_cast<std::size_t>(type) - base;
}

}  // namespace

base::Result<std::string> Encode(const ToWorker& message) {
  return EncodeVariant(message, kToWorkerBase);
}
base::Result<std::string> Encode(const FromWorker& message) {
  return EncodeVariant(message, kFromWorkerBase);
}
base::Result<ToWorker> DecodeToWorker(const Frame& frame) {
  return DecodeAt<ToWorker>(Index(frame.type, kToWorkerBase), frame);
}
base::Result<FromWorker> DecodeFromWorker(const Frame& frame) {
  return DecodeAt<FromWorker>(Index(frame.type, kFromWorkerBase), frame);
}

}  // namespace assay::driver
