#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "base/text.h"
#include "cli/address.h"
#include "cli/flags/duration.h"
#include "cli/flags/nearest.h"
#include "cli/flags/size.h"

namespace assay::cli::flags {
namespace {

std::string EnvironmentName(const std::string& flag) {
  std::string name = "ASSAY_";
  for (const char c : flag) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string Joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

// A validator of CLI11: "" if `word` is UTF-8, so that it can be sent in a message.
std::string TextProblem(const std::string& word) {
  for (std::string_view rest = word; !rest.empty();) {
    const int length = base::Utf8Length(rest);
    if (length <= 0) return base::Quoted(word) + " is not UTF-8";
    rest.remove_prefix(static_cast<std::size_t>(length));
  }
  return "";
}

// A validator of CLI11: "" if `word` is one of `allowed`.
std::string ChoiceProblem(const std::string& word, const std::vector<std::string>& allowed) {
  for (const std::string& one : allowed) {
    if (one == word) return "";
  }
  std::string text = base::Quoted(word) + " is not one of " + Joined(allowed, ", ");
  if (const auto near = Nearest(word, allowed)) text += "; did you mean " + *near + "?";
  return text;
}

}  // namespace

class Flags::Impl {
 public:
  Impl(std::string command, std::string summary, std::string details)
      : command_(std::move(command)), app_(std::move(summary), command_) {
    app_.footer("\n" + std::move(details) + "\n");
    app_.allow_extras();  // Parse reports them, with the nearest flag
    app_.option_defaults()->group("Flags");
    app_.set_help_flag("-h,--help", "print this help and exit");
    app_.set_config("--config", "", "read flags from this file, one per line: flag = \"value\"")
        ->type_name("FILE")
        ->envname("ASSAY_CONFIG");
    app_.allow_config_extras(CLI::config_extras_mode::error);
    app_.get_formatter()->column_width(34);
    app_.get_formatter()->label("OPTIONS", "FLAGS");
    names_ = {"--config", "--help"};
  }

  CLI::Option* Named(CLI::Option* option, const std::string& name, const std::string& what) {
    names_.push_back("--" + name);
    option->type_name(what)->group(group_);
    if (environment_) {
      option->envname(EnvironmentName(name));
      in_environment_.push_back(name);
    }
    return option;
  }

  int Wrong(const std::string& text) const {
    // CLI11's own texts contain what the user wrote, raw.
    std::cerr << command_ << ": " << base::Shown(text, std::string::npos) << "\nsee `" << command_
              << " --help`\n";
    return kExitFailed;
  }

  // CLI11 gives the file precedence over the environment. To reverse that, the values from the
  // environment are inserted into the command line, unless the command line sets the flag itself.
  void AddEnvironment(std::vector<std::string>* args) const {
    const auto end = std::find(args->begin(), args->end(), "--");
    std::vector<std::string> added;
    for (const std::string& name : in_environment_) {
      const char* value = std::getenv(EnvironmentName(name).c_str());
      if (value == nullptr || *value == '\0') continue;  // an empty variable counts as not set
      const std::string flag = "--" + name;
      const bool said = std::any_of(args->begin(), end, [&](const std::string& word) {
        return word == flag || word.starts_with(flag + "=");
      });
      if (!said) added.push_back(flag + "=" + value);
    }
    args->insert(args->begin(), added.begin(), added.end());
  }

  // CLI11 would read the next argument as the value of `--name=`, so the empty value is inserted.
  static void SplitEmptyValues(std::vector<std::string>* args) {
    for (std::size_t i = 0; i < args->size() && (*args)[i] != "--"; ++i) {
      std::string& word = (*args)[i];
      if (!word.starts_with("--") || word.find('=') != word.size() - 1) continue;
      word.pop_back();
      args->insert(args->begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
      ++i;
    }
  }

  std::optional<int> Parse(std::vector<std::string> args) {
    AddEnvironment(&args);
    SplitEmptyValues(&args);
    // Arguments after "--" are never flags.
    const auto ended = std::find(args.begin(), args.end(), "--");
    const std::vector<std::string> plain(ended, args.end());
    std::reverse(args.begin(), args.end());  // the order that CLI11 expects
    try {
      app_.parse(std::move(args));
    } catch (const CLI::CallForHelp&) {
      std::cout << app_.help();
      return kExitOk;
    } catch (const CLI::ConfigError& error) {
      const std::string said = error.what();  // ends with the unknown key
      const std::string key = "--" + said.substr(said.rfind(' ') + 1);
      const auto near = Nearest(key, names_);
      return Wrong("the file given with --config has the unknown flag " +
                   base::Shown(key.substr(2)) +
                   (near ? "; did you mean " + near->substr(2) + "?" : ""));
    } catch (const CLI::ParseError& error) {
      return Wrong(error.what());
    }
    std::vector<std::string> extras = app_.remaining();
    std::erase(extras, "--");  // the separator is not an argument
    if (extras.empty()) return std::nullopt;
    const std::string& extra = extras.front();
    if (extra.size() < 2 || extra[0] != '-') {
      return Wrong("unexpected argument " + base::Quoted(extra));
    }
    const std::string flag = extra.substr(0, extra.find('='));
    if (std::find(plain.begin(), plain.end(), extra) != plain.end()) {
      return Wrong("unexpected argument " + base::Quoted(extra) +
                   ": arguments after -- are never flags; put flags before it");
    }
    const auto near = Nearest(flag, names_);
    return Wrong("unknown flag " + base::Shown(flag) +
                 (near ? "; did you mean " + *near + "?" : ""));
  }

  std::string command_;
  CLI::App app_;
  std::string group_ = "Flags";
  bool environment_ = false;
  bool required_ = true;
  std::vector<std::string> in_environment_;
  std::vector<std::string> names_;
};

Flags::Flags(std::string command, std::string summary, std::string details)
    : impl_(std::make_unique<Impl>(std::move(command), std::move(summary), std::move(details))) {}
Flags::~Flags() = default;

Flags& Flags::Positional(const std::string& name, std::string* value, const std::string& help) {
  impl_->app_.add_option(name, *value, help)
      ->required(impl_->required_)
      ->type_name("")
      ->group("Arguments")
      ->check(TextProblem);
  return *this;
}

Flags& Flags::PositionalPath(const std::string& name, std::string* value, const std::string& help) {
  impl_->app_.add_option(name, *value, help)
      ->required(impl_->required_)
      ->type_name("")
      ->group("Arguments");
  return *this;
}

Flags& Flags::PositionalChoice(const std::string& name, std::string* value,
                               std::vector<std::string> allowed, const std::string& help) {
  impl_->app_.add_option(name, *value, help)
      ->required(impl_->required_)
      ->type_name("")
      ->group("Arguments")
      ->check([allowed = std::move(allowed)](const std::string& word) {
        return ChoiceProblem(word, allowed);
      });
  return *this;
}

Flags& Flags::Text(const std::string& name, std::string* value, const std::string& what,
                   const std::string& help) {
  impl_->Named(impl_->app_.add_option("--" + name, *value, help), name, what)->check(TextProblem);
  return *this;
}

Flags& Flags::Path(const std::string& name, std::string* value, const std::string& what,
                   const std::string& help) {
  impl_->Named(impl_->app_.add_option("--" + name, *value, help), name, what);
  return *this;
}

Flags& Flags::Address(const std::string& name, std::string* value, const std::string& help) {
  impl_->Named(impl_->app_.add_option("--" + name, *value, help), name, "HOST:PORT")
      ->check(TextProblem)
      ->check(AddressProblem);
  return *this;
}

Flags& Flags::Texts(const std::string& name, std::vector<std::string>* values,
                    const std::string& what, const std::string& help) {
  impl_->Named(impl_->app_.add_option("--" + name, *values, help), name, what)
      ->expected(1)
      ->take_all()
      ->check(TextProblem);
  return *this;
}

Flags& Flags::Choice(const std::string& name, std::string* value, std::vector<std::string> allowed,
                     const std::string& help) {
  const std::string what = Joined(allowed, "|");
  impl_->Named(impl_->app_.add_option("--" + name, *value, help), name, what)
      ->check([allowed = std::move(allowed)](const std::string& word) {
        return ChoiceProblem(word, allowed);
      });
  return *this;
}

Flags& Flags::Choices(const std::string& name, std::vector<std::string>* values,
                      std::vector<std::string> allowed, const std::string& help) {
  const std::string what = Joined(allowed, "|");
  impl_->Named(impl_->app_.add_option("--" + name, *values, help), name, what)
      ->expected(1)
      ->take_all()
      ->check([allowed = std::move(allowed)](const std::string& word) {
        return ChoiceProblem(word, allowed);
      });
  return *this;
}

Flags& Flags::Switch(const std::string& name, bool* value, const std::string& help) {
  impl_->Named(impl_->app_.add_flag("--" + name, *value, help), name, "");
  return *this;
}

Flags& Flags::Number(const std::string& name, std::int64_t* value, std::int64_t min,
                     std::int64_t max, const std::string& help) {
  impl_->Named(impl_->app_.add_option("--" + name, *value, help), name, "N")
      ->check(CLI::Range(min, max))
      ->capture_default_str();
  return *this;
}

Flags& Flags::Time(const std::string& name, std::int64_t* value, const std::string& help) {
  return Duration(name, value, "TIME", DurationText(*value), "", help);
}

Flags& Flags::Seconds(const std::string& name, std::int64_t* value, const std::string& help) {
  std::string shown = DurationText(*value);
  if (shown.ends_with("ms")) {
    shown = std::to_string(static_cast<double>(*value) / 1000);
  } else {
    shown.pop_back();
  }
  return Duration(name, value, "SECONDS", shown, "s", help);
}

// Appends `unit` to a text that does not end with it. `unit` is "" if the user writes the unit.
Flags& Flags::Duration(const std::string& name, std::int64_t* value, const std::string& what,
                       const std::string& shown, const std::string& unit, const std::string& help) {
  const auto read = [value, unit, name](const std::string& text) {
    const bool complete = unit.empty() || text.ends_with(unit);
    const base::Result<std::int64_t> ms = ParseDuration(complete ? text : text + unit);
    if (!ms.ok()) throw CLI::ValidationError("--" + name, ms.status().text());
    *value = *ms;
  };
  impl_->Named(impl_->app_.add_option_function<std::string>("--" + name, read, help), name, what)
      ->default_str(shown);
  return *this;
}

Flags& Flags::Size(const std::string& name, std::int64_t* value, std::int64_t min, std::int64_t max,
                   const std::string& help) {
  const auto read = [value, min, max, name](const std::string& text) {
    const base::Result<std::int64_t> bytes = ParseSize(text);
    if (!bytes.ok()) throw CLI::ValidationError("--" + name, bytes.status().text());
    if (*bytes < min || *bytes > max) {
      throw CLI::ValidationError("--" + name, base::Quoted(text) + " is not between " +
                                                  SizeText(min) + " and " + SizeText(max));
    }
    *value = *bytes;
  };
  impl_->Named(impl_->app_.add_option_function<std::string>("--" + name, read, help), name, "SIZE")
      ->default_str(SizeText(*value));
  return *this;
}

Flags& Flags::Required(bool on) {
  impl_->required_ = on;
  return *this;
}

Flags& Flags::Environment(bool on) {
  impl_->environment_ = on;
  return *this;
}

Flags& Flags::Group(const std::string& title) {
  impl_->group_ = title;
  return *this;
}

bool Flags::Given(const std::string& name) const { return impl_->app_.count("--" + name) > 0; }

std::optional<int> Flags::Parse(std::vector<std::string> args) {
  return impl_->Parse(std::move(args));
}

int Flags::Wrong(const std::string& text) const { return impl_->Wrong(text); }

}  // namespace assay::cli::flags
