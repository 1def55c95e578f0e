#include "ctld/job_submit/lua_script.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <lua.hpp>

#include "common/base/text.hpp"
#include "ctld/job_submit/lua_api.hpp"

namespace sluice::ctld {
namespace {

constexpr auto kMostTime = std::chrono::seconds(10);
constexpr size_t kMostBytes = 256U << 20;
constexpr int kInstructions = 10'000;  // between two looks at the clock
constexpr size_t kMostMessages = 100;
constexpr size_t kMostOfMessage = 4096;

// Lua's errors are jumps: nothing that has a destructor to be run lives where one may begin.

struct Start {
  const char* path;
  const std::string& cluster_name;
};

int start(lua_State* lua) {
  const auto& of = *static_cast<const Start*>(lua_touserdata(lua, 1));
  luaL_openlibs(lua);
  add_lua_api(lua, of.cluster_name);
  if (luaL_loadfile(lua, of.path) != LUA_OK) return lua_error(lua);
  lua_call(lua, 0, 0);
  return 0;
}

struct Call {
  const char* function;
  const std::vector<LuaFields*>& tables;
  uint32_t user;
  const std::vector<LuaScript::Global>& globals;
  double code = 0;
  bool is_number = false;
};

int call_function(lua_State* lua) {
  auto& of = *static_cast<Call*>(lua_touserdata(lua, 1));
  if (lua_getglobal(lua, "slurm") == LUA_TTABLE) {
    for (const LuaScript::Global& global : of.globals) {
      push_lua_table(lua, *global.fields);
      lua_setfield(lua, -2, global.name);
    }
  }
  lua_getglobal(lua, of.function);
  for (LuaFields* fields : of.tables) push_lua_table(lua, *fields);
  lua_pushinteger(lua, lua_Integer{of.user});
  lua_call(lua, static_cast<int>(of.tables.size()) + 1, 1);
  int is_number = 0;
  of.code = lua_tonumberx(lua, -1, &is_number);
  of.is_number = is_number != 0;
  return 0;
}

struct Functions {
  const std::vector<std::string_view>& names;
  std::string_view missing;
};

int look_for_functions(lua_State* lua) {
  auto& of = *static_cast<Functions*>(lua_touserdata(lua, 1));
  lua_pushglobaltable(lua);
  for (const std::string_view name : of.names) {
    lua_pushlstring(lua, name.data(), name.size());
    if (lua_gettable(lua, -2) != LUA_TFUNCTION) of.missing = name;
    lua_pop(lua, 1);
  }
  return 0;
}

}  // namespace

void* LuaScript::allocate(void* self, void* block, size_t before, size_t after) {
  LuaScript& script = *static_cast<LuaScript*>(self);
  const size_t had = block == nullptr ? 0 : before;
  if (after == 0) {
    std::free(block);
    script.bytes_ -= had;
    return nullptr;
  }
  if (after > had && script.bytes_ + (after - had) > kMostBytes) return nullptr;
  void* out = std::realloc(block, after);
  if (out != nullptr) script.bytes_ = script.bytes_ - had + after;
  return out;
}

LuaScript& LuaScript::of(lua_State* lua) {
  return **static_cast<LuaScript**>(lua_getextraspace(lua));
}

Result<std::unique_ptr<LuaScript>> LuaScript::load(const std::string& path,
                                                   const std::vector<std::string_view>& functions,
                                                   const std::string& cluster_name) {
  std::unique_ptr<LuaScript> script(new LuaScript(path));
  if (Status ok = script->begin(functions, cluster_name); !ok) return tl::unexpected(ok.error());
  return script;
}

LuaScript::~LuaScript() {
  if (lua_ != nullptr) lua_close(lua_);
}

Status LuaScript::begin(const std::vector<std::string_view>& functions,
                        const std::string& cluster_name) {
  lua_ = lua_newstate(allocate, this);
  if (lua_ == nullptr) return failure(path_ + ": no memory for Lua");
  *static_cast<LuaScript**>(lua_getextraspace(lua_)) = this;
  Start from{path_.c_str(), cluster_name};
  if (Status ok = run(start, &from); !ok) return ok;
  Functions wanted{functions, {}};
  if (Status ok = run(look_for_functions, &wanted); !ok) return ok;
  if (wanted.missing.empty()) return {};
  return failure(fmt::format("{}: the function {} is not there", path_, wanted.missing));
}

Status LuaScript::run(int (*body)(lua_State*), void* argument) {
  end_ = std::chrono::steady_clock::now() + kMostTime;
  const auto look_at_clock = [](lua_State* lua, lua_Debug*) {
    if (std::chrono::steady_clock::now() >= of(lua).end_)
      luaL_error(lua, "it took longer than %d seconds", static_cast<int>(kMostTime.count()));
  };
  lua_sethook(lua_, look_at_clock, LUA_MASKCOUNT, kInstructions);
  ++calls_;
  running_ = true;
  lua_pushcfunction(lua_, body);
  lua_pushlightuserdata(lua_, argument);
  const int failed = lua_pcall(lua_, 1, 0, 0);
  running_ = false;
  if (failed == LUA_OK) return {};
  // an error can be anything; of texts alone nothing is made new
  const bool is_text = lua_type(lua_, -1) == LUA_TSTRING;
  const std::string why = is_text ? lua_tostring(lua_, -1) : "an error without a text";
  lua_settop(lua_, 0);
  return failure(fmt::format("{}: {}", path_, why));
}

void LuaScript::say(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (std::string& line : lines) {
    if (messages_.size() >= kMostMessages) return;
    messages_.push_back(line.substr(0, kMostOfMessage));
  }
}

Result<LuaScript::Answer> LuaScript::call(const char* function,
                                          const std::vector<LuaFields*>& tables, uint32_t user,
                                          const std::vector<Global>& globals) {
  messages_.clear();
  Call of{function, tables, user, globals};
  Status ok = run(call_function, &of);
  Answer answer{of.code, std::exchange(messages_, {})};
  if (!ok) return tl::unexpected(ok.error());
  if (!of.is_number) return failure(path_ + ": non-numeric return code");
  return answer;
}

}  // namespace sluice::ctld
