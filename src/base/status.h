// The result of a call that can fail: a code from a small closed set and a text for the user.
//
// The text names what was wrong, where (file, job, node, rank, flag) and what to do. Nothing throws
// across Assay's own interfaces. wire/grpc_status.h is the only conversion to gRPC's codes.
//
// Thread safety: values; const use from several threads is safe.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace assay::base {

enum class Code {
  kOk,
  kInvalid,      // the caller's input is wrong and stays wrong
  kNotFound,     // the named object does not exist
  kConflict,     // refused in the current state (a run is open, a lock is held)
  kNotReady,     // the same input may become valid soon (a half-written file)
  kUnavailable,  // the other side cannot be reached or cannot store; try again
  kExhausted,    // one of Assay's own limits is reached
  kDenied,       // the caller is not allowed to do that
  kUnsupported,  // this build or machine cannot do that
  kReplaced,     // a newer object of the same kind replaced this one
  kInternal,     // a broken invariant or an environment error after start-up
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : code_(code), text_(std::move(text)) {}

  static Status Ok() { return {}; }
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& text() const { return text_; }

 private:
  Code code_ = Code::kOk;
  std::string text_;
};

inline Status InvalidError(std::string text) { return {Code::kInvalid, std::move(text)}; }
inline Status NotFoundError(std::string text) { return {Code::kNotFound, std::move(text)}; }
inline Status ConflictError(std::string text) { return {Code::kConflict, std::move(text)}; }
inline Status NotReadyError(std::string text) { return {Code::kNotReady, std::move(text)}; }
inline Status UnavailableError(std::string text) { return {Code::kUnavailable, std::move(text)}; }
inline Status ExhaustedError(std::string text) { return {Code::kExhausted, std::move(text)}; }
inline Status UnsupportedError(std::string text) { return {Code::kUnsupported, std::move(text)}; }
inline Status ReplacedError(std::string text) { return {Code::kReplaced, std::move(text)}; }
inline Status InternalError(std::string text) { return {Code::kInternal, std::move(text)}; }

// A value, or the Status that explains why there is none. value() REQUIRES: ok().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by intent
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by intent
    assert(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return *std::move(value_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace assay::base
