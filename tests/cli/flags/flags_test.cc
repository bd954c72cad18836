#include "cli/flags/flags.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/support/temp_dir.h"

using namespace assay::cli::flags;
using namespace assay::support;

namespace {

struct Values {
  std::string listen = "127.0.0.1:8899";
  std::int64_t deadline = 300'000;
  std::int64_t host = 2000;
  std::int64_t count = 8;
  bool insecure = false;
  std::vector<std::string> ops;

  std::optional<int> Parse(std::vector<std::string> args) {
    Flags flags("assay test", "tests", "more");
    flags.Environment(true)
        .Text("listen", &listen, "HOST:PORT", "where")
        .Time("aic-deadline", &deadline, "how long")
        .Seconds("host-seconds", &host, "how long")
        .Number("count", &count, 1, 64, "how many")
        .Switch("insecure", &insecure, "really")
        .Choices("op", &ops, {"aic", "p2p"}, "what");
    return flags.Parse(std::move(args));
  }
};

}  // namespace

TEST_CASE("flags have defaults and accept values in both forms") {
  Values values;
  CHECK_FALSE(values.Parse({}).has_value());
  CHECK(values.listen == "127.0.0.1:8899");
  CHECK(values.deadline == 300'000);
  CHECK_FALSE(values
                  .Parse({"--listen=[::1]:1", "--aic-deadline", "90s", "--host-seconds=0.5",
                          "--count=3", "--insecure", "--op", "aic", "--op=p2p"})
                  .has_value());
  CHECK(values.listen == "[::1]:1");
  CHECK(values.deadline == 90'000);
  CHECK(values.host == 500);
  CHECK(values.count == 3);
  CHECK(values.insecure);
  CHECK(values.ops == std::vector<std::string>{"aic", "p2p"});
}

TEST_CASE("wrong values and flags end with status 1") {
  for (const char* wrong : {"--lisen=x", "--aic-deadline=30", "--count=0", "--count=65",
                            "--count=x", "--op=aix", "stray", "--host-seconds=-1"}) {
    INFO(wrong);
    CHECK(Values().Parse({wrong}) == kExitFailed);
  }
}

TEST_CASE("the command line overrides the environment, and the environment overrides the file") {
  TempDir folder;
  const std::string file = folder.path() + "/assay.conf";
  std::ofstream(file) << "listen = \"file:1\"\naic-deadline = \"1s\"\ncount = 5\n";
  setenv("ASSAY_LISTEN", "environment:1", 1);
  setenv("ASSAY_AIC_DEADLINE", "2s", 1);
  Values values;
  CHECK_FALSE(values.Parse({"--config", file, "--aic-deadline=3s"}).has_value());
  unsetenv("ASSAY_LISTEN");
  unsetenv("ASSAY_AIC_DEADLINE");
  CHECK(values.deadline == 3000);
  CHECK(values.listen == "environment:1");
  CHECK(values.count == 5);

  std::ofstream(file) << "lisen = \"file:1\"\n";
  CHECK(Values().Parse({"--config", file}) == kExitFailed);
  CHECK(Values().Parse({"--config", file + ".none"}) == kExitFailed);
}

TEST_CASE(
    "an empty value does not consume the next argument, an empty variable counts as not set") {
  Values values;
  setenv("ASSAY_LISTEN", "", 1);
  CHECK_FALSE(values.Parse({"--insecure"}).has_value());
  CHECK(values.listen == "127.0.0.1:8899");
  CHECK_FALSE(values.Parse({"--listen=", "--count=3"}).has_value());
  unsetenv("ASSAY_LISTEN");
  CHECK(values.listen.empty());
  CHECK(values.count == 3);
  CHECK(Values().Parse({"--aic-deadline=", "--count=3"}) == kExitFailed);
}

TEST_CASE("text must be UTF-8, a path may contain any bytes") {
  std::string id, name, path;
  std::vector<std::string> nodes;
  const auto parse = [&](std::vector<std::string> args) {
    Flags flags("assay test", "tests", "more");
    flags.Positional("ID", &id, "what")
        .Text("name", &name, "TEXT", "what")
        .Texts("node", &nodes, "NAME", "what")
        .Path("file", &path, "FILE", "what");
    return flags.Parse(std::move(args));
  };
  CHECK(parse({"\xff"}) == kExitFailed);
  CHECK(parse({"a", "--name=\xff"}) == kExitFailed);
  CHECK(parse({"a", "--node=b", "--node=\xc3"}) == kExitFailed);
  CHECK_FALSE(parse({"\xc3\xa9", "--name=\xe6\xbc\xa2", "--file=\xff"}).has_value());
  CHECK(path == "\xff");
}

TEST_CASE("a coordinator's address is validated") {
  std::string address;
  const auto parse = [&](const std::string& arg) {
    Flags flags("assay test", "tests", "more");
    flags.Address("coordinator", &address, "where");
    return flags.Parse({arg});
  };
  CHECK(parse("--coordinator=127.0.0.1:99999") == kExitFailed);
  CHECK_FALSE(parse("--coordinator=head").has_value());
  CHECK(address == "head");
}
