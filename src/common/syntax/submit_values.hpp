// The values of submit options as Slurm writes them, to what a spec holds. Nothing when malformed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/result.hpp"

namespace sluice {

// `4`, `2-4`, `1k-2k`, `1,3,5`, `2-8:2`. The error is Slurm's sentence.
struct NodeCounts {
  uint32_t least = 0;
  uint32_t most = 0;
  std::string list;  // the text, when it is more than one range; kNoNodes for "0"
};
[[nodiscard]] Result<NodeCounts> parse_node_counts(std::string_view text);

// A signal's number by name (with or without SIG, any case) or number; at most 65535.
[[nodiscard]] std::optional<uint32_t> parse_signal(std::string_view text);
// "USR1" for 10; empty when there is none of that number.
[[nodiscard]] std::string_view signal_name(uint32_t number);
// What the shell says of a process ended by it: "Terminated", "Segmentation fault".
[[nodiscard]] std::string signal_description(uint32_t number);

// `[{R|B}:]sig[@seconds]`
struct SignalOption {
  uint32_t signal = 0;
  uint32_t seconds = 60;
  bool batch = false;
  bool reservation = false;
};
[[nodiscard]] std::optional<SignalOption> parse_signal_option(std::string_view text);

// The types that are known, in capitals and separated by commas; nothing when none is.
[[nodiscard]] std::optional<std::string> parse_mail_types(std::string_view text);

// `cyclic:block,Pack`, `plane=4`, `arbitrary`: the text back when it is right. The error's text is
// a further sentence where Slurm has one.
[[nodiscard]] Status check_distribution(std::string_view text);

// `gpu:a100:2,license:1` to `gres/gpu:a100:2,gres/license:1`; a missing count is 1.
[[nodiscard]] std::optional<std::string> parse_gres(std::string_view text);
// --gpus and the like: `2`, `a100:2,v100:1` to `gres/gpu:2` …
[[nodiscard]] std::optional<std::string> parse_gpus(std::string_view text);

// What is said of a cluster that nobody knows.
[[nodiscard]] std::string unknown_cluster(std::string_view name);

inline constexpr std::string_view kLimitNames[] = {"AS",      "CORE",   "CPU",   "DATA", "FSIZE",
                                                   "MEMLOCK", "NOFILE", "NPROC", "RSS",  "STACK"};
// One name of a resource limit, with or without RLIMIT_; its RLIMIT_ number.
[[nodiscard]] std::optional<int> rlimit_number(std::string_view name);
// The error's text is Slurm's `Bad rlimit name: TEXT`.
[[nodiscard]] Status check_propagate(std::string_view text);

[[nodiscard]] bool is_acctg_freq(std::string_view text);
// How often tasks are looked at by "15" or "energy=60,task=15"; 0: at the end only. Nothing when it
// does not say.
[[nodiscard]] std::optional<uint32_t> task_acctg_seconds(std::string_view text);
[[nodiscard]] bool is_profile(std::string_view text);
[[nodiscard]] bool is_gpu_bind(std::string_view text);
// What is no number in its map or mask, as Slurm says it; empty: all are.
[[nodiscard]] std::string bad_gpu_number(std::string_view text);
// The first word that is not one of --mem-bind's (or --cpu-bind's); nothing when all are.
[[nodiscard]] std::optional<std::string> bad_mem_bind(std::string_view text);
[[nodiscard]] std::optional<std::string> bad_cpu_bind(std::string_view text);
// Whether --cpu-bind says how tasks are bound, and not only whether that is reported.
[[nodiscard]] bool says_how_to_bind(std::string_view cpu_bind);
// Whether it says if that is reported.
[[nodiscard]] bool says_whether_to_report(std::string_view cpu_bind);
// CpuBind of a node or partition as it is shown: "cores" for core, nothing in it for off. Nothing
// when it is none.
[[nodiscard]] std::optional<std::string> usual_binding(std::string_view text);
inline constexpr std::string_view kUsualBindings = "one of none, socket, ldom, core, thread, off";
// Its number in JSON.
[[nodiscard]] uint32_t usual_binding_number(std::string_view shown);

// `S[:C[:T]]`; `*` and the maximum of a range are passed over. The error's text names the part.
struct SocketsCoresThreads {
  uint32_t sockets = 0, cores = 0, threads = 0;
};
[[nodiscard]] Result<SocketsCoresThreads> parse_extra_node_info(std::string_view text);

}  // namespace sluice
