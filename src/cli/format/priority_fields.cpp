#include "cli/format/priority_fields.hpp"

#include <cmath>

#include <fmt/format.h>

namespace sluice {
namespace {

using Row = FieldRow<PriorityView>;
using View = PriorityView;
using Context = RenderContext;

void put_whole(std::string& out, double value) {
  fmt::format_to(std::back_inserter(out), "{:.0f}", value);
}

// A factor in three columns: weighed, as it is, and its weight.
template <double PriorityFactors::*factor, uint32_t PriorityWeights::*weight>
void put_weighed(const View& v, const Context&, std::string& out) {
  const double weighs = v.weights().*weight;
  if (v.record == nullptr) put_whole(out, weighs);
  else put_whole(out, weighs * (v.record->factors.*factor));
}
template <double PriorityFactors::*factor, uint32_t PriorityWeights::*weight>
int64_t weighed_key(const View& v, const Context&) {
  return std::llround(v.weights().*weight * (v.record->factors.*factor));
}
template <double PriorityFactors::*factor, uint32_t PriorityWeights::*weight>
void put_factor(const View& v, const Context&, std::string& out) {
  if (v.record == nullptr) put_whole(out, v.weights().*weight);
  else fmt::format_to(std::back_inserter(out), "{:.7f}", v.record->factors.*factor);
}
template <double PriorityFactors::*factor>
int64_t factor_key(const View& v, const Context&) {
  constexpr double kFine = 1e9;
  return std::llround(v.record->factors.*factor * kFine);
}

double tres_value(const View& v, size_t at, bool weighed) {
  const std::vector<double>& factors = v.record->factors.tres;
  const double factor = at < factors.size() ? factors[at] : 0;
  return weighed ? v.weights().tres[at].weight * factor : factor;
}

void put_tres(const View& v, bool weighed, std::string& out) {
  if (v.record == nullptr) {
    if (weighed) out += v.all->tres_weights;
    return;
  }
  const std::vector<TresWeight>& weights = v.weights().tres;
  for (size_t i = 0; i < weights.size() && !v.record->fixed; ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}={:.{}f}", i > 0 ? "," : "", weights[i].tres,
                   tres_value(v, i, weighed), weighed ? 0 : 2);
  }
}
int64_t tres_key(const View& v, const Context&) {
  constexpr double kFine = 1e6;
  double sum = 0;
  for (size_t i = 0; i < v.weights().tres.size(); ++i) sum += tres_value(v, i, true);
  return std::llround(sum * kFine);
}

void put_id(const View& v, const Context&, std::string& out) {
  if (v.record == nullptr) out += "Weights";
  else out += std::to_string(v.record->job);
}

using F = PriorityFactors;
using W = PriorityWeights;

template <double F::*factor, uint32_t W::*weight>
constexpr Row weighed(char letter, std::string_view heading) {
  return {{}, letter, heading, put_weighed<factor, weight>, weighed_key<factor, weight>};
}
template <double F::*factor, uint32_t W::*weight>
constexpr Row normal(char letter, std::string_view heading) {
  return {{}, letter, heading, put_factor<factor, weight>, factor_key<factor>};
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage): rows read best as tables
#define FIELD [](const View& v, [[maybe_unused]] const Context& c, std::string& out)
#define KEY []([[maybe_unused]] const View& v, const Context&) -> int64_t
// NOLINTEND(cppcoreguidelines-macro-usage)

// clang-format off
constexpr Row kRows[] = {
    normal<&F::age, &W::age>('a', "AGE"),
    weighed<&F::age, &W::age>('A', "AGE"),
    normal<&F::assoc, &W::assoc>('b', "ASSOC"),
    weighed<&F::assoc, &W::assoc>('B', "ASSOC"),
    {{}, 'c', "CLUSTER", FIELD { if (v.record != nullptr) out += "(null)"; }, KEY { return 0; }},
    normal<&F::fair_share, &W::fair_share>('f', "FAIRSHARE"),
    weighed<&F::fair_share, &W::fair_share>('F', "FAIRSHARE"),
    {{}, 'i', "JOBID", put_id, KEY { return v.record->job; }},
    normal<&F::job_size, &W::job_size>('j', "JOBSIZE"),
    weighed<&F::job_size, &W::job_size>('J', "JOBSIZE"),
    {{}, 'n', "QOSNAME", FIELD { if (v.record != nullptr) out += v.record->qos; }},
    {{}, 'N', "NICE", FIELD { if (v.record != nullptr) out += std::to_string(v.record->nice); },
     KEY { return v.record->fixed ? INT32_MIN : v.record->nice; }},
    {{}, 'o', "ACCOUNT", FIELD { if (v.record != nullptr) out += v.record->account; }},
    normal<&F::partition, &W::partition>('p', "PARTITION"),
    weighed<&F::partition, &W::partition>('P', "PARTITION"),
    normal<&F::qos, &W::qos>('q', "QOS"),
    weighed<&F::qos, &W::qos>('Q', "QOS"),
    {{}, 'r', "PARTITION", FIELD { if (v.record != nullptr) out += v.record->partition; }},
    {{}, 'S', "SITE",
     FIELD { out += v.record != nullptr ? std::to_string(v.record->site_factor) : "1"; },
     KEY { return v.record->site_factor; }},
    {{}, 's', "SLUID", FIELD { if (v.record != nullptr) out += "(null)"; }},
    {{}, 't', "TRES", FIELD { put_tres(v, false, out); }, tres_key},
    {{}, 'T', "TRES", FIELD { put_tres(v, true, out); }, tres_key},
    {{}, 'u', "USER",
     FIELD {
       if (v.record == nullptr) return;
       out += c.user_name != nullptr ? c.user_name(v.record->uid) : std::to_string(v.record->uid);
     }},
    {{}, 'y', "PRIORITY",
     FIELD {
       if (v.record == nullptr) return;
       fmt::format_to(std::back_inserter(out), "{:.14f}",
                      v.record->sum / (v.record->fixed ? 1 : 4294967295.0));
     },
     KEY { return v.record->priority; }},
    {{}, 'Y', "PRIORITY",
     FIELD { if (v.record != nullptr) out += std::to_string(v.record->priority); },
     KEY { return v.record->priority; }},
};
// clang-format on

}  // namespace

std::span<const FieldRow<PriorityView>> priority_fields() { return kRows; }

std::string priority_layout(const PriorityLayout& form, const PriorityWeights& weights) {
  std::string out = "%.15i %9r";
  const auto add = [&](bool wanted, std::string_view column) {
    if (wanted) out.append(" ").append(column);
  };
  const auto factor = [&](uint32_t weight, std::string_view weighed, std::string_view normal) {
    add(form.long_form || weight > 0, form.normal ? normal : weighed);
  };
  add(form.cluster, "%.8c");
  add(form.long_form || form.users, "%.8u");
  add(form.long_form && !form.normal, "%.8o");
  add(true, form.normal ? "%10y" : "%.10Y");
  add(!form.normal, "%.10S");
  factor(weights.age, "%.10A", "%10a");
  factor(weights.assoc, "%.10B", "%10b");
  factor(weights.fair_share, "%.10F", "%10f");
  factor(weights.job_size, "%.10J", "%10j");
  factor(weights.partition, "%.10P", "%10p");
  add(form.long_form && !form.normal, "%.10n");
  factor(weights.qos, "%.10Q", "%10q");
  add(form.long_form && !form.normal, "%.11N");
  add(form.long_form || !weights.tres.empty(), form.normal ? "%20t" : "%.20T");
  return out;
}

}  // namespace sluice
