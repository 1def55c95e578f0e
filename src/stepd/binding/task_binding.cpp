#include "stepd/binding/task_binding.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "stepd/binding/bind_list.hpp"

namespace sluice::stepd {
namespace {

enum class BindKind : uint8_t {
  kNotSaid,
  kNone,
  kThreads,
  kCores,
  kSockets,
  kDomains,
  kRank,
  kRankDomain,
  kMapCpu,
  kMaskCpu,
  kMapDomain,
  kMaskDomain
};

// A word of --cpu-bind and what Slurm calls it.
struct KindRow {
  std::string_view word;
  BindKind kind;
  std::string_view report;  // of --cpu-bind=verbose
};
constexpr std::array kKinds{
    KindRow{"none", BindKind::kNone, "NONE"},
    KindRow{"no", BindKind::kNone, "NONE"},
    KindRow{"threads", BindKind::kThreads, "MASK"},
    KindRow{"thread", BindKind::kThreads, "MASK"},
    KindRow{"cores", BindKind::kCores, "MASK"},
    KindRow{"core", BindKind::kCores, "MASK"},
    KindRow{"sockets", BindKind::kSockets, "MASK"},
    KindRow{"socket", BindKind::kSockets, "MASK"},
    KindRow{"ldoms", BindKind::kDomains, "MASK"},
    KindRow{"ldom", BindKind::kDomains, "MASK"},
    KindRow{"rank", BindKind::kRank, "RANK"},
    KindRow{"rank_ldom", BindKind::kRankDomain, "LDRANK"},
    KindRow{"map_cpu:", BindKind::kMapCpu, "MAP "},
    KindRow{"mask_cpu:", BindKind::kMaskCpu, "MASK"},
    KindRow{"map_ldom:", BindKind::kMapDomain, "LDMAP "},
    KindRow{"mask_ldom:", BindKind::kMaskDomain, "LDMASK"},
};

struct Words {
  const KindRow* row = nullptr;
  std::vector<std::string> list;  // of a map or of masks
  bool verbose = false;
  [[nodiscard]] BindKind kind() const { return row == nullptr ? BindKind::kNotSaid : row->kind; }
};

Words read_words(std::string_view bind) {
  Words out;
  bool in_list = false;
  size_t bytes = 0;
  for (std::string word : split_list(to_lower(bind))) {
    if (word == "v" || word == "verbose" || word == "q" || word == "quiet") {
      out.verbose = word.starts_with('v');
      in_list = false;
      continue;
    }
    for (const KindRow& row : kKinds) {
      const bool takes_list = row.word.ends_with(':');
      if (takes_list ? !word.starts_with(row.word) : word != row.word) continue;
      out.row = &row;
      out.list.clear();
      in_list = takes_list;
      word.erase(0, row.word.size());
      break;
    }
    if (!in_list || out.list.size() >= kMostItems) continue;
    for (std::string& item : list_items(word)) {
      bytes += item.size();
      if (bytes > kMostItemBytes) break;
      out.list.push_back(std::move(item));
    }
  }
  return out;
}

constexpr uint32_t kMostCpus = 1U << 16;  // the bits of a number beyond it would only cost memory

// The bits that an item of a list stands for; a map's is one number, of `count` that are counted
// round (0: of CPUs).
Bitmap bits_of_item(const std::string& item, bool is_mask, size_t count) {
  Bitmap bits;
  if (is_mask) {
    for (const uint32_t bit : bits_of_mask(item)) bits.set(bit);
  } else if (const auto number = to_number<uint32_t>(item)) {
    if (count > 0) bits.set(*number % count);
    else if (*number < kMostCpus) bits.set(*number);
  }
  return bits;
}

class Binder {
 public:
  Binder(const BindRequest& request, Words words) : request_(request), words_(std::move(words)) {
    for (const uint32_t cpu : request.cpus) step_.set(number_of(cpu));
  }

  Result<TaskBinding> run() {
    out_.verbose = words_.verbose;
    if (words_.row != nullptr) out_.report = words_.row->report;
    switch (words_.kind()) {
      case BindKind::kNone: bind_all(); break;
      case BindKind::kRank:
      case BindKind::kRankDomain:
      case BindKind::kMapDomain:
      case BindKind::kMaskDomain:
        if (!has_whole_node())
          return refuse(fmt::format("Entire node must be allocated for {}", name()));
        [[fallthrough]];
      case BindKind::kMapCpu:
      case BindKind::kMaskCpu: return bind_as_listed();
      default: deal(); break;
    }
    return std::move(out_);
  }

 private:
  uint32_t number_of(uint32_t cpu) const {
    return cpu < request_.numbers.size() ? request_.numbers[cpu] : cpu;
  }
  bool has_whole_node() const {
    return request_.cpus.size() + request_.system_cpus >= request_.node_cpus;
  }
  std::string_view name() const {
    const std::string_view word = words_.row->word;
    return word.substr(0, word.find(':'));
  }
  size_t digits() const { return (size_t{request_.node_cpus} + 3) / 4; }

  static tl::unexpected<Error> refuse(std::string_view why) {
    return failure(fmt::format("{}\nUnable to satisfy cpu bind request", why));
  }

  // "none": a task may run wherever the step may, which is said where others have CPUs of the node
  // too.
  void bind_all() {
    if (request_.cpus.empty() || has_whole_node()) return;
    set_masks({step_});
  }

  void set_masks(std::vector<Bitmap> masks) {
    out_.type = "mask_cpu:";
    out_.report = "MASK";
    std::vector<std::string> list;
    list.reserve(masks.size());
    for (const Bitmap& mask : masks) list.push_back(hex_mask(mask, digits(), true));
    out_.list = join(list, ",");
    out_.masks = std::move(masks);
  }

  // Counted round: where there are two, the third is the first.
  Bitmap cpus_of_domains(const Bitmap& domains) const {
    Bitmap cpus;
    if (request_.domains.empty()) return step_;
    domains.for_each(
        [&](size_t domain) { cpus |= request_.domains[domain % request_.domains.size()]; });
    return cpus;
  }

  Result<TaskBinding> bind_as_listed() {
    const BindKind kind = words_.kind();
    const bool is_mask = kind == BindKind::kMaskCpu || kind == BindKind::kMaskDomain;
    const bool by_rank = kind == BindKind::kRank || kind == BindKind::kRankDomain;
    const bool by_domain = kind == BindKind::kRankDomain || kind == BindKind::kMapDomain ||
                           kind == BindKind::kMaskDomain;
    std::vector<size_t> all;  // CPUs of the node, the lowest number first
    step_.for_each([&](size_t cpu) { all.push_back(cpu); });
    for (uint32_t local = 0; local < request_.demand.tasks; ++local) {
      Bitmap bits;
      if (by_rank) bits.set(by_domain || all.empty() ? local : all[local % all.size()]);
      else if (!words_.list.empty())
        bits = bits_of_item(words_.list[local % words_.list.size()], is_mask,
                            by_domain ? request_.domains.size() : 0);
      Bitmap mask = by_domain ? cpus_of_domains(bits) : bits;
      if (!by_domain && (mask.none() || !step_.contains(mask))) {
        return refuse(
            fmt::format("CPU binding outside of job step allocation, allocated CPUs are: {}.",
                        hex_mask(step_, digits(), true)));
      }
      out_.masks.push_back(std::move(mask));
    }
    out_.type = words_.row->word;
    for (std::string& item : words_.list) {
      if (is_mask && item.starts_with("0x"))
        item.erase(0, std::min(item.find_first_not_of('0', 2), item.size() - 1));
    }
    out_.list = join(words_.list, ",");
    return std::move(out_);
  }

  // What there are as many of as tasks, or what the user named.
  bool choose_unit(CpuDemand& demand) const {
    switch (words_.kind()) {
      case BindKind::kThreads: demand.unit = BindUnit::kThread; return true;
      case BindKind::kCores: demand.unit = BindUnit::kCore; return true;
      case BindKind::kSockets:
      case BindKind::kDomains: demand.unit = BindUnit::kSocket; return true;
      default: break;
    }
    if (request_.ntasks_per_core > 0) demand.unit = BindUnit::kCore;
    else if (request_.ntasks_per_socket > 0) demand.unit = BindUnit::kSocket;
    else if (request_.says_threads) demand.unit = BindUnit::kThread;
    else return find_unit(request_.cpus, request_.shape, demand) || choose_autobind(demand);
    return true;
  }

  bool choose_autobind(CpuDemand& demand) const {
    switch (read_words(request_.autobind).kind()) {
      case BindKind::kThreads: demand.unit = BindUnit::kThread; return true;
      case BindKind::kCores: demand.unit = BindUnit::kCore; return true;
      case BindKind::kSockets: demand.unit = BindUnit::kSocket; return true;
      default: return false;
    }
  }

  // All domains that the CPUs are in.
  Bitmap whole_domains(const Bitmap& cpus) const {
    Bitmap all = cpus;
    for (const Bitmap& domain : request_.domains) {
      if (domain.intersects(cpus)) all |= domain;
    }
    return all;
  }

  void deal() {
    if (request_.cpus.empty()) return;
    CpuDemand demand = request_.demand;
    std::vector<std::vector<uint32_t>> dealt;
    if (choose_unit(demand)) dealt = deal_cpus(request_.cpus, request_.shape, demand);
    if (dealt.empty()) return set_masks({step_});
    std::vector<Bitmap> masks;
    for (const auto& cpus : dealt) {
      Bitmap& mask = masks.emplace_back();
      for (const uint32_t cpu : cpus) mask.set(number_of(cpu));
      if (words_.kind() == BindKind::kDomains) mask = whole_domains(mask);
    }
    set_masks(std::move(masks));
  }

  const BindRequest& request_;
  Words words_;
  Bitmap step_;  // CPU numbers
  TaskBinding out_;
};

}  // namespace

bool names_domains(std::string_view bind) {
  switch (read_words(bind).kind()) {
    case BindKind::kDomains:
    case BindKind::kRankDomain:
    case BindKind::kMapDomain:
    case BindKind::kMaskDomain: return true;
    default: return false;
  }
}

Result<TaskBinding> bind_tasks(const BindRequest& request) {
  return Binder(request, read_words(request.bind)).run();
}

std::optional<TaskBinding> asked_binding(std::string_view bind) {
  const Words words = read_words(bind);
  if (words.row == nullptr && !words.verbose) return std::nullopt;
  TaskBinding asked;
  asked.verbose = words.verbose;
  asked.list = join(words.list, ",");
  // of several spellings the usual one
  const auto* known = std::ranges::find(kKinds, words.kind(), &KindRow::kind);
  asked.type = words.row == nullptr ? std::string_view() : known->word;
  return asked;
}

std::string hex_mask(const Bitmap& cpus, size_t digits, bool upper_case) {
  const std::string_view names = upper_case ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string text(digits, '0');  // the lowest first
  cpus.for_each([&](size_t cpu) {
    if (text.size() <= cpu / 4) text.resize(cpu / 4 + 1, '0');
    char& digit = text[cpu / 4];
    const auto value =
        static_cast<size_t>(digit <= '9' ? digit - '0' : digit - (upper_case ? 'A' : 'a') + 10);
    digit = names[value | size_t{1} << cpu % 4];
  });
  if (text.empty()) text = "0";
  return "0x" + std::string(text.rbegin(), text.rend());
}

}  // namespace sluice::stepd
