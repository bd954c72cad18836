#include "core/model.h"

#include <span>

namespace assay::core {
namespace {

constexpr std::string_view kJobStates[] = {"pending", "running", "complete", "failed"};
constexpr std::string_view kExecutors[] = {"subscriber", "agent"};

template <class E>
std::optional<E> FromName(std::span<const std::string_view> names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(JobState state) { return kJobStates[static_cast<std::size_t>(state)]; }
std::string_view Name(Executor executor) { return kExecutors[static_cast<std::size_t>(executor)]; }

std::optional<JobState> JobStateFromName(std::string_view name) {
  return FromName<JobState>(kJobStates, name);
}
std::optional<Executor> ExecutorFromName(std::string_view name) {
  return FromName<Executor>(kExecutors, name);
}

}  // namespace assay::core
