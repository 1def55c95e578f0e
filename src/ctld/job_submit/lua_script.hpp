// One script in Lua that decides on jobs, with what it may ask of the controller in the table
// `slurm`. It runs in this process with all of Lua's libraries, as the site's own program, within
// bounds of time and memory. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "ctld/job_submit/lua_fields.hpp"

struct lua_State;

namespace sluice::ctld {

class LuaScript {
 public:
  // Reads the file, runs it once and looks whether the functions are there that are called later.
  // The error's text names the file.
  [[nodiscard]] static Result<std::unique_ptr<LuaScript>> load(
      const std::string& path, const std::vector<std::string_view>& functions,
      const std::string& cluster_name);
  LuaScript(const LuaScript&) = delete;
  LuaScript& operator=(const LuaScript&) = delete;
  ~LuaScript();

  // `slurm.NAME` during the next calls; not owned. They live as long as the calls.
  struct Global {
    const char* name = nullptr;
    LuaFields* fields = nullptr;
  };
  struct Answer {
    double code = 0;                    // what the function returned
    std::vector<std::string> messages;  // for the user, line by line
  };
  // Calls the function with these tables and the user's uid behind them. An error of the script is
  // the error's text.
  [[nodiscard]] Result<Answer> call(const char* function, const std::vector<LuaFields*>& tables,
                                    uint32_t user, const std::vector<Global>& globals);

  // --- for the functions that the script calls ---------------------------------------------------
  [[nodiscard]] static LuaScript& of(lua_State* lua);
  [[nodiscard]] bool is_of_this_call(uint64_t call) const { return call == calls_ && running_; }
  [[nodiscard]] uint64_t number_of_call() const { return calls_; }
  // To the user.
  void say(std::string_view text);

 private:
  explicit LuaScript(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status begin(const std::vector<std::string_view>& functions,
                             const std::string& cluster_name);
  // Calls `body`, to which `argument` is light userdata, within the bounds. Whatever may raise an
  // error of Lua's is in such a body: outside of one, an error ends the process.
  [[nodiscard]] Status run(int (*body)(lua_State*), void* argument);
  [[nodiscard]] static void* allocate(void* self, void* block, size_t before, size_t after);

  std::string path_;
  lua_State* lua_ = nullptr;
  size_t bytes_ = 0;
  std::chrono::steady_clock::time_point end_;
  uint64_t calls_ = 0;
  bool running_ = false;
  std::vector<std::string> messages_;
};

}  // namespace sluice::ctld
