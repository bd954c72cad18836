// The flags of one command: declared once with their help, then read from the command line, the
// environment and a configuration file, in this order of precedence. Only flags.cc includes CLI11.
//
//   Flags flags("assay job apply", "apply a rank table", "...");
//   flags.Positional("ID", &id, "the job").Text("rank-table", &file, "FILE", "...");
//   if (const auto status = flags.Parse(args)) return *status;  // --help, or a wrong flag
//
// Every flag `--some-flag` is also the key `some-flag` of the file given with --config and, after
// Environment(true), the environment variable ASSAY_SOME_FLAG. Parse reports a wrong flag or value
// on standard error and suggests the nearest valid one.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::cli::flags {

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

  // The variables hold the defaults and receive the values in Parse. They must outlive this object.

  // Whether the positionals declared after this call are required. Initially true.
  Flags& Required(bool on);
  // Values are UTF-8, here and below. Only paths may contain any bytes.
  Flags& Positional(const std::string& name, std::string* value, const std::string& help);
  Flags& PositionalPath(const std::string& name, std::string* value, const std::string& help);
  Flags& PositionalChoice(const std::string& name, std::string* value,
                          std::vector<std::string> allowed, const std::string& help);
  Flags& Text(const std::string& name, std::string* value, const std::string& what,
              const std::string& help);
  Flags& Path(const std::string& name, std::string* value, const std::string& what,
              const std::string& help);
  // HOST:PORT of a coordinator; see cli/address.h.
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
  // The value is in milliseconds. The user writes a number and a unit.
  Flags& Time(const std::string& name, std::int64_t* value, const std::string& help);
  // The value is in bytes. The user writes a number, with or without a unit.
  Flags& Size(const std::string& name, std::int64_t* value, std::int64_t min, std::int64_t max,
              const std::string& help);
  // The value is in milliseconds. The user writes a plain number of seconds, "2" or "0.5".
  Flags& Seconds(const std::string& name, std::int64_t* value, const std::string& help);
  // Whether the flags declared after this call can also be set as environment variables. Initially
  // false: a variable exported for an agent (ASSAY_NODE) must not narrow an `assay stress`.
  Flags& Environment(bool on);
  // Heading in --help for the flags declared after this call.
  Flags& Group(const std::string& title);

  // Whether the command line, the environment or the file sets the flag. Call it after Parse.
  bool Given(const std::string& name) const;

  // Returns no value if the command is to continue. Otherwise the help or the error has been
  // printed and the command must exit with the returned status.
  std::optional<int> Parse(std::vector<std::string> args);
  // Reports a usage error found after Parse: prints "assay job apply: TEXT" and a reference to
  // --help on standard error. Returns kExitFailed.
  int Wrong(const std::string& text) const;

 private:
  class Impl;
  Flags& Duration(const std::string& name, std::int64_t* value, const std::string& what,
                  const std::string& shown, const std::string& unit, const std::string& help);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::cli::flags
