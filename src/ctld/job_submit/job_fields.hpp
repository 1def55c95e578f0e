// job_desc of a script: what a submission asks for, by Slurm's names, and what `scontrol update`
// changes. Numbers that are not given are NO_VAL of their width, texts are nil.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/environment/environment.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/job_update.hpp"
#include "ctld/job_submit/lua_fields.hpp"

namespace sluice::ctld {

// job_desc.environment. It is read from its block, and written back, once a script looks at it.
class EnvironmentFields final : public LuaFields {
 public:
  explicit EnvironmentFields(std::string& block) : block_(block) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] Status set(std::string_view name, const LuaValue& value, bool& known) override;
  [[nodiscard]] std::vector<std::string> names() override;
  void write_back();

 private:
  void read();
  std::string& block_;
  bool read_ = false, changed_ = false;
  Environment variables_;
};

// job_desc.argv, which begins with the script or the program.
class ArgumentFields final : public LuaFields {
 public:
  explicit ArgumentFields(const JobSpec& spec) : spec_(spec) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] std::vector<std::string> names() override;
  [[nodiscard]] size_t count() const {
    return spec_.command.empty() ? 0 : spec_.arguments.size() + 1;
  }

 private:
  const JobSpec& spec_;
};

// Of one component of a submission. All outlive this.
class SubmissionFields final : public LuaFields {
 public:
  struct Of {
    JobSpec& spec;
    std::string& script;       // empty: none
    std::string& environment;  // KEY=VALUE texts, each ended by NUL
    std::string default_account;
  };
  explicit SubmissionFields(Of of);
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] Status set(std::string_view name, const LuaValue& value, bool& known) override;
  [[nodiscard]] std::vector<std::string> names() override;
  // What was set is in place of what there was.
  void finish() { environment_.write_back(); }

 private:
  Of of_;
  EnvironmentFields environment_;
  ArgumentFields arguments_;
};

class ChangeFields final : public LuaFields {
 public:
  // `update` outlives this. `user`: who changes it.
  ChangeFields(JobUpdate& update, uint32_t user) : update_(update), user_(user) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] Status set(std::string_view name, const LuaValue& value, bool& known) override;
  [[nodiscard]] std::vector<std::string> names() override;

 private:
  JobUpdate& update_;
  uint32_t user_ = 0;
};

// The same fields of a job that is there, which are only read.
[[nodiscard]] LuaValue spec_value(const JobSpec& spec, std::string_view name);
[[nodiscard]] std::vector<std::string> spec_names();

}  // namespace sluice::ctld
