#include "sim/trace/formats.hpp"

#include "sim/trace/sacct.hpp"
#include "sim/trace/swf.hpp"

namespace sluice::sim {

Result<Trace> parse_trace(std::string_view text, const std::string& file) {
  const std::string_view first = text.substr(0, text.find('\n'));
  const bool names = !first.starts_with(';') && first.find('|') != std::string_view::npos;
  auto trace = names ? parse_sacct(text, file) : parse_swf(text, file);
  if (!trace) return trace;
  if (trace->jobs.empty()) return failure(file + ": there is no job in it that ran");
  trace->name = file.substr(file.rfind('/') + 1);
  return trace;
}

}  // namespace sluice::sim
