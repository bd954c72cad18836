// The flags of one command: declared once with their help, read from the command line, the
// environment and a configuration file, in this order of precedence. CLI11 does the work and stays
// behind this header.
//
//   Flags flags("assay job apply", "apply a rank table", "...");
//   flags.Positional("ID", &id, "the job").Text("rank-table", &file, "FILE", "...");
//   if (const auto status = flags.Parse(args)) return *status;  // help was asked, or a flag is
//   wrong
//
// Every flag `--some-flag` is also the key `some-flag` of the file given with --config and, where
// Environment says so, the environment variable ASSAY_SOME_FLAG. A wrong flag or value is said with
// the nearest right one, on standard error.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// Exit statuses of every command (`assay stress` has more, see its help).
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // usage, connection, refusal

class Flags {
 public:
  // `details` is the text after the flags in --help: what the command does, exit statuses,
  // examples.
  Flags(std::string command, std::string summary, std::string details);
  ~Flags();
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // The variables hold the defaults, are set by Parse, and outlive this object.

  // Whether the positionals that follow must be given. On at first.
  Flags& Required(bool on);
  // Text is UTF-8, here and below; only paths may be any bytes.
  Flags& Positional(const std::string& name, std::string* value, const std::string& help);
  Flags& PositionalPath(const std::string& name, std::string* value, const std::string& help);
  Flags& PositionalChoice(const std::string& name, std::string* value,
                          std::vector<std::string> allowed, const std::string& help);
  Flags& Text(const std::string& name, std::string* value, const std::string& what,
              const std::string& help);
  Flags& Path(const std::string& name, std::string* value, const std::string& what,
              const std::string& help);
  // HOST:PORT of a coordinator, as address.h has it.
  Flags& Address(const std::string& name, std::string* value, const std::string& help);
  Flags& Texts(const std::string& name, std::vector<std::string>* values, const std::string& what,
               const std::string& help);
  Flags& Choice(const std::string& name, std::string* value, std::vector<std::string> allowed,
                const std::string& help);
  Flags& Choices(const std::string& name, std::vector<std::string>* values,
                 std::vector<std::string> allowed, const std::string& help);
  Flags& Switch(const std::string& name, bool* value, const std::string& help);
  Flags& Number(const std::string& name, std::int64_t* value, std::int64_t min, std::int64_t max,
                const std::string& help);
  // Milliseconds; written with a unit.
  Flags& Time(const std::string& name, std::int64_t* value, const std::string& help);
  // Bytes; written with a unit or as a plain number.
  Flags& Size(const std::string& name, std::int64_t* value, std::int64_t min, std::int64_t max,
              const std::string& help);
  // Milliseconds; written as a plain number of seconds, "2" or "0.5".
  Flags& Seconds(const std::string& name, std::int64_t* value, const std::string& help);
  // Whether the flags that follow are also environment variables. Off at first: what is exported
  // for an agent (ASSAY_NODE) must not narrow somebody's `assay stress`.
  Flags& Environment(bool on);
  Flags& Group(const std::string& title);  // of the flags that follow, in --help

  bool Given(const std::string& name) const;  // by whatever way

  // No value: go on. Else the status to exit with; what there was to say has been said.
  std::optional<int> Parse(std::vector<std::string> args);
  // For problems found later: "assay job apply: TEXT", and where to look. Returns kExitFailed.
  int Wrong(const std::string& text) const;

 private:
  class Impl;
  Flags& Duration(const std::string& name, std::int64_t* value, const std::string& what,
                  const std::string& shown, const std::string& unit, const std::string& help);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
