// What the rows of submit_options_*.cpp are made of: setters for the usual kinds of values. Inside
// tables only.
#pragma once

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/submit/submit_options.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice::submit {

// The rows of each file; submit_options() joins them.
[[nodiscard]] std::span<const SubmitOption> job_rows();
[[nodiscard]] std::span<const SubmitOption> life_rows();
[[nodiscard]] std::span<const SubmitOption> size_rows();
[[nodiscard]] std::span<const SubmitOption> device_rows();
[[nodiscard]] std::span<const SubmitOption> command_rows();
[[nodiscard]] std::span<const SubmitOption> step_rows();

using Input = OptionInput;

inline tl::unexpected<OptionProblem> refuse(std::string error, int exit_status = 255) {
  return tl::unexpected<OptionProblem>(OptionProblem{{std::move(error)}, exit_status, {}});
}
inline tl::unexpected<OptionProblem> bad_specification(const Input& in) {
  return refuse(fmt::format("Invalid --{} specification", in.option->name));
}
inline tl::unexpected<OptionProblem> bad_number(const Input& in) {
  return refuse(fmt::format("Invalid numeric value \"{}\" for --{}.", in.value, in.option->name),
                1);
}
// Ends the command after `text` was printed: --mpi=list and the like.
inline tl::unexpected<OptionProblem> show(std::string text, int exit_status = 0) {
  return tl::unexpected<OptionProblem>(OptionProblem{{}, exit_status, std::move(text)});
}

// The part of a submission that a member belongs to.
template <class M, class C>
C member_class(M C::*);
template <auto Member>
auto& place(Submission& s) {
  using Holder = decltype(member_class(Member));
  if constexpr (std::is_same_v<Holder, JobSpec>) return s.job.*Member;
  else if constexpr (std::is_same_v<Holder, StepSpec>) return s.step.*Member;
  else return s.settings.*Member;
}

template <auto Member>
OptionResult set_text(Submission& s, const Input& in) {
  place<Member>(s) = in.value;
  return {};
}
template <auto Member>
OptionResult set_true(Submission& s, const Input&) {
  place<Member>(s) = true;
  return {};
}
// A whole number above 0.
template <auto Member>
OptionResult set_count(Submission& s, const Input& in) {
  const auto number = to_number<uint32_t>(in.value);
  if (!number || *number == 0 || *number > 0x7fffffff) return bad_number(in);
  place<Member>(s) = *number;
  return {};
}
// A whole number, 0 too; where the value may be left out, that means `Bare`.
template <auto Member, uint32_t Bare = 0>
OptionResult set_number(Submission& s, const Input& in) {
  if (!in.has_value) {
    place<Member>(s) = Bare;
    return {};
  }
  const auto number = to_number<uint32_t>(in.value);
  if (!number || *number > 0x7fffffff) return bad_number(in);
  place<Member>(s) = *number;
  return {};
}
// A memory or disk size in MiB.
template <auto Member>
OptionResult set_size(Submission& s, const Input& in) {
  const auto size = parse_memory(in.value);
  if (!size) return bad_specification(in);
  place<Member>(s) = *size;
  return {};
}
template <MemoryKind Kind>
OptionResult set_memory(Submission& s, const Input& in) {
  const auto size = parse_memory(in.value);
  if (!size) return bad_specification(in);
  s.job.memory_kind = Kind;
  s.job.memory_mib = *size;
  return {};
}
inline OptionResult ignore(Submission&, const Input&) { return {}; }

}  // namespace sluice::submit
