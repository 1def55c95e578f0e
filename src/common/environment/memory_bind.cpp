#include "common/environment/memory_bind.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr std::string_view kMapPrefix = "map_mem:";
constexpr std::string_view kMaskPrefix = "mask_mem:";

std::string without_0x(std::string_view mask) {
  if (mask.starts_with("0x") || mask.starts_with("0X")) mask.remove_prefix(2);
  return std::string(mask);
}

// A word that changes no list; false for an item of one.
bool take_word(std::string_view word, MemoryBind& out) {
  const auto is = [word](std::string_view name, std::string_view brief = {}) {
    return iequals(word, name) || (!brief.empty() && iequals(word, brief));
  };
  if (is("quiet", "q")) out.verbose = false;
  else if (is("verbose", "v")) out.verbose = true;
  else if (is("prefer", "p")) out.prefer = true;
  else if (is("sort")) out.sort = true;
  else if (is("nosort")) out.sort = false;
  else if (is("none", "no")) out.kind = MemoryBindKind::kNone;
  else if (is("rank")) out.kind = MemoryBindKind::kRank;
  else if (is("local")) out.kind = MemoryBindKind::kLocal;
  else return false;
  return true;
}

std::string request_text(const MemoryBind& bind, bool says_quiet, bool says_sort) {
  std::vector<std::string> words;
  if (bind.verbose) words.emplace_back("verbose");
  else if (says_quiet) words.emplace_back("quiet");
  if (bind.prefer) words.emplace_back("prefer");
  if (bind.sort && says_sort) words.emplace_back("sort");
  const std::string type = fmt::format("{}{}", memory_bind_type(bind.kind), join(bind.list, ","));
  if (!type.empty()) words.push_back(type);
  return join(words, ",");
}

// "quiet" alone asks for nothing, and an empty variable would be refused.
void set_request(std::string_view name, const MemoryBind& bind, Environment& out) {
  if (const std::string text = request_text(bind, false, true); !text.empty()) out.set(name, text);
}

}  // namespace

std::string_view memory_bind_type(MemoryBindKind kind) {
  switch (kind) {
    case MemoryBindKind::kNone: return "none";
    case MemoryBindKind::kRank: return "rank";
    case MemoryBindKind::kLocal: return "local";
    case MemoryBindKind::kMap: return kMapPrefix;
    case MemoryBindKind::kMask: return kMaskPrefix;
    default: return "";
  }
}

MemoryBind parse_memory_bind(std::string_view text) {
  MemoryBind out;
  for (const std::string& word : split_list(text)) {
    if (take_word(word, out)) continue;
    const bool map = word.starts_with(kMapPrefix), mask = word.starts_with(kMaskPrefix);
    if (map || mask) {
      out.kind = map ? MemoryBindKind::kMap : MemoryBindKind::kMask;
      out.list.clear();
    }
    const std::string item = word.substr(map ? kMapPrefix.size() : mask ? kMaskPrefix.size() : 0);
    out.list.push_back(out.kind == MemoryBindKind::kMask ? without_0x(item) : item);
  }
  if (out.kind != MemoryBindKind::kMap && out.kind != MemoryBindKind::kMask) out.list.clear();
  return out;
}

void set_memory_bind_variables(const MemoryBind& bind, Environment& out) {
  out.set("SLURM_MEM_BIND", request_text(bind, true, false));
  out.set("SLURM_MEM_BIND_LIST", join(bind.list, ","));
  out.set("SLURM_MEM_BIND_TYPE", memory_bind_type(bind.kind));
  out.set("SLURM_MEM_BIND_VERBOSE", bind.verbose ? "verbose" : "quiet");
  if (bind.prefer) out.set("SLURM_MEM_BIND_PREFER", "prefer");
  if (bind.sort) out.set("SLURM_MEM_BIND_SORT", "sort");
}

void set_memory_bind_request(const MemoryBind& bind, Environment& out) {
  set_request("SLURM_MEM_BIND", bind, out);
  out.set("SLURM_MEM_BIND_VERBOSE", bind.verbose ? "verbose" : "quiet");
  if (bind.sort) out.set("SLURM_MEM_BIND_SORT", "sort");
}

void set_batch_memory_bind(const MemoryBind& bind, Environment& out) {
  set_request("SBATCH_MEM_BIND", bind, out);
  out.set("SBATCH_MEM_BIND_LIST", join(bind.list, ","));
  out.set("SBATCH_MEM_BIND_TYPE", memory_bind_type(bind.kind));
  out.set("SBATCH_MEM_BIND_VERBOSE", bind.verbose ? "verbose" : "quiet");
  if (bind.prefer) out.set("SBATCH_MEM_BIND_PREFER", "prefer");
}

}  // namespace sluice
