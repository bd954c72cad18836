#include "cli/client.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/table.h"

namespace assay::cli {

int NodeList(Args args) {
  const std::string command = "assay node list";
  ClientFlags client_flags;
  flags::Flags flags(
      command, "List the nodes whose agents have attached to the coordinator.",
      "JSON: [{\"name\": \"a\", \"state\": \"attached|lost\", \"since_ms\", \"identity\",\n"
      "\"version\", \"host_name\", \"fqdn\", \"addresses\": [...], \"driver\",\n"
      "\"devices\": [{\"index\", \"kind\", \"detail\", \"run\"}, ...]}, ...]; a device's run is 0\n"
      "while no test holds it.");
  client_flags.Declare(&flags);
  if (const auto status = flags.Parse(std::move(args))) return *status;
  const auto response =
      Client(client_flags.coordinator)
          .Call(&admin::Admin::Stub::PrepareAsyncListNodes, admin::ListNodesRequest());
  if (!response.ok()) return Fail(command, response.status());
  Json json = Json::array();
  using A = Table::Align;
  Table table({{"NODE"},
               {"STATE"},
               {"DEVICES", A::kRight},
               {"UNDER TEST", A::kRight},
               {"DRIVER"},
               {"VERSION"},
               {"HOST"},
               {"SINCE (UTC)"}});
  for (const admin::Node& node : response->nodes()) {
    json.push_back(NodeJson(node));
    int under_test = 0;
    for (const admin::NodeDevice& device : node.devices()) under_test += device.run() != 0;
    table.Add({node.name(), node.state(), std::to_string(node.devices_size()),
               std::to_string(under_test), node.driver(), node.version(), node.host_name(),
               TimeText(node.since_ms())});
  }
  if (client_flags.json) {
    PrintJson(json);
  } else {
    Print(table.Text());
  }
  return flags::kExitOk;
}

int NodeForget(Args args) {
  const std::string command = "assay node forget";
  ClientFlags client_flags;
  std::string name;
  flags::Flags flags(
      command, "Forget a node that will not come back.",
      "Its results stay in the database. The coordinator refuses while the node's agent is\n"
      "attached or an open run waits for it.\n\n"
      "Exit status: 0 forgotten, 1 refused or coordinator not reached, 128 + N ended by signal N\n"
      "(130: Ctrl-C).");
  client_flags.Declare(&flags);
  flags.Positional("NAME", &name, "the node, as `assay node list` shows it");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  admin::ForgetNodeRequest request;
  request.set_name(name);
  const auto response =
      Client(client_flags.coordinator).Call(&admin::Admin::Stub::PrepareAsyncForgetNode, request);
  if (!response.ok()) return Fail(command, response.status());
  if (client_flags.json) PrintJson(Json{{"name", name}, {"forgotten", true}});
  return flags::kExitOk;
}

}  // namespace assay::cli
