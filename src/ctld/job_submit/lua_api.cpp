#include "ctld/job_submit/lua_api.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <lua.hpp>

#include "common/base/printable.hpp"
#include "common/base/time_text.hpp"
#include "common/log/log.hpp"
#include "ctld/job_submit/lua_script.hpp"

namespace sluice::ctld {
namespace {

// Lua's errors are jumps that run no destructor, so a function that has anything to destroy says
// what is wrong in `error`, and the jump begins once it is gone.
template <int (*body)(lua_State* lua, std::string& error)>
int guarded(lua_State* lua) {
  int results = 0;
  bool failed = false;
  {
    std::string error;
    results = body(lua, error);
    failed = !error.empty();
    if (failed) {
      luaL_where(lua, 1);
      lua_pushlstring(lua, error.data(), error.size());
    }
  }
  if (!failed) return results;
  lua_concat(lua, 2);
  return lua_error(lua);
}

// --- tables --------------------------------------------------------------------------------------

// Null: it is of a call that is over.
LuaFields* fields_of(lua_State* lua, std::string& error) {
  const auto call = static_cast<uint64_t>(lua_tointeger(lua, lua_upvalueindex(1)));
  if (LuaScript::of(lua).is_of_this_call(call))
    return static_cast<LuaFields*>(lua_touserdata(lua, lua_upvalueindex(2)));
  error = "this table is of a call that is over";
  return nullptr;
}

// Of a table whose keys are numbers, too; empty: it is no name.
std::string name_at(lua_State* lua, int index) {
  if (lua_type(lua, index) == LUA_TSTRING) return lua_tostring(lua, index);
  if (lua_isnumber(lua, index) == 0) return {};
  return fmt::format("{:.14g}", lua_tonumber(lua, index));
}

void push_value(lua_State* lua, const LuaValue& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) {
    lua_pushlstring(lua, text->data(), text->size());
  } else if (const double* number = std::get_if<double>(&value)) {
    constexpr double kExact = 9007199254740992.0;
    if (std::floor(*number) == *number && std::abs(*number) <= kExact)
      lua_pushinteger(lua, static_cast<lua_Integer>(*number));
    else lua_pushnumber(lua, *number);
  } else if (LuaFields* const* fields = std::get_if<LuaFields*>(&value)) {
    push_lua_table(lua, **fields);
  } else {
    lua_pushnil(lua);
  }
}

int get_field(lua_State* lua, std::string& error) {
  LuaFields* fields = fields_of(lua, error);
  if (fields != nullptr) push_value(lua, fields->get(name_at(lua, 2)));
  return 1;
}

// Nothing: it is no value that a field can have.
std::optional<LuaValue> value_at(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TNIL: return LuaValue();
    case LUA_TBOOLEAN: return lua_toboolean(lua, index) != 0 ? 1.0 : 0.0;
    case LUA_TNUMBER: return lua_tonumber(lua, index);
    case LUA_TSTRING: {
      size_t size = 0;
      const char* text = lua_tolstring(lua, index, &size);
      return std::string(text, size);
    }
    default: return std::nullopt;
  }
}

int set_field(lua_State* lua, std::string& error) {
  LuaFields* fields = fields_of(lua, error);
  if (fields == nullptr) return 0;
  const std::string name = name_at(lua, 2);
  const std::optional<LuaValue> value = value_at(lua, 3);
  if (!value) {
    error = fmt::format("{}: it cannot be a {}", name, luaL_typename(lua, 3));
    return 0;
  }
  bool known = true;
  const Status ok = fields->set(name, *value, known);
  if (!ok) error = fmt::format("{}: {}", name, ok.error().text);
  else if (!known) log::error("_set_job_field: unrecognized field: {}", escape_controls(name));
  return 0;
}

// pairs(): over a copy, so that what is set meanwhile does no harm.
int all_fields(lua_State* lua, std::string& error) {
  LuaFields* fields = fields_of(lua, error);
  if (fields == nullptr) return 0;
  lua_getglobal(lua, "next");
  lua_newtable(lua);
  for (const std::string& name : fields->names()) {
    const LuaValue value = fields->get(name);
    if (std::holds_alternative<std::monostate>(value)) continue;
    lua_pushlstring(lua, name.data(), name.size());
    push_value(lua, value);
    lua_settable(lua, -3);
  }
  lua_pushnil(lua);
  return 3;
}

// --- what scripts call ---------------------------------------------------------------------------

// string.format(...) of the arguments from `first` on, on the top of the stack.
std::string_view formatted(lua_State* lua, int first) {
  const int top = lua_gettop(lua);
  luaL_checkstring(lua, first);
  lua_getglobal(lua, "string");
  lua_getfield(lua, -1, "format");
  lua_remove(lua, -2);
  for (int at = first; at <= top; ++at) lua_pushvalue(lua, at);
  lua_call(lua, top - first + 1, 1);
  size_t size = 0;
  const char* text = lua_tolstring(lua, -1, &size);
  return {text, size};
}

void write_log(log::Level level, std::string_view text) {
  log::log(level, "lua: {}", escape_controls(text));
}

template <log::Level level>
int log_at(lua_State* lua) {
  write_log(level, formatted(lua, 1));
  return 0;
}

// slurm.log(level, text) of old scripts: 0 is info, each number more a level further.
int log_by_number(lua_State* lua) {
  const auto above = std::clamp<lua_Integer>(luaL_checkinteger(lua, 1), 0, 6);
  write_log(static_cast<log::Level>(static_cast<int>(log::Level::kInfo) + static_cast<int>(above)),
            formatted(lua, 2));
  return 0;
}

int log_user(lua_State* lua) {
  LuaScript::of(lua).say(formatted(lua, 1));
  return 0;
}

int user_message(lua_State* lua) {
  LuaScript::of(lua).say(luaL_checkstring(lua, 1));
  return 0;
}

int minutes_of_text(lua_State* lua) {
  const auto minutes = parse_minutes(luaL_checkstring(lua, 1));
  lua_pushinteger(lua, minutes ? lua_Integer{*minutes} : static_cast<lua_Integer>(kNoVal));
  return 1;
}

constexpr luaL_Reg kFunctions[] = {
    {"log", log_by_number},
    {"error", log_at<log::Level::kError>},
    {"log_error", log_at<log::Level::kError>},
    {"log_info", log_at<log::Level::kInfo>},
    {"log_verbose", log_at<log::Level::kVerbose>},
    {"log_debug", log_at<log::Level::kDebug>},
    {"log_debug2", log_at<log::Level::kDebug2>},
    {"log_debug3", log_at<log::Level::kDebug3>},
    {"log_debug4", log_at<log::Level::kDebug4>},
    {"log_user", log_user},
    {"user_msg", user_message},
    {"time_str2mins", minutes_of_text},
    {nullptr, nullptr},
};

constexpr std::pair<const char*, double> kConstants[] = {
    {"SUCCESS", 0},
    {"ERROR", -1},
    {"FAILURE", -1},
    {"NO_VAL8", kNoVal8},
    {"NO_VAL16", kNoVal16},
    {"NO_VAL", kNoVal},
    {"NO_VAL64", kNoVal64},
    {"INFINITE", kInfinite},
    {"INFINITE64", kInfinite64},
    {"NICE_OFFSET", kNiceOffset},
    {"MEM_PER_CPU", kMemPerCpu},
    {"ALLOC_SID_ADMIN_HOLD", 1},
    {"ALLOC_SID_USER_HOLD", 2},
    {"JOB_SHARED_NONE", 0},
    {"JOB_SHARED_OK", 1},
    {"JOB_SHARED_USER", 2},
    {"JOB_SHARED_MCS", 3},
    {"JOB_SHARED_TOPO", 4},
    {"SHARED_FORCE", 0x8000},
    {"KILL_INV_DEP", 0x1},
    {"NO_KILL_INV_DEP", 0x2},
    {"GRES_ENFORCE_BIND", 0x10},
    {"SPREAD_JOB", 0x100},
    {"USE_MIN_NODES", 0x200},
    {"GRES_DISABLE_BIND", 0x80000},
    {"MAIL_JOB_BEGIN", 0x1},
    {"MAIL_JOB_END", 0x2},
    {"MAIL_JOB_FAIL", 0x4},
    {"MAIL_JOB_REQUEUE", 0x8},
    {"MAIL_JOB_TIME100", 0x10},
    {"MAIL_JOB_TIME90", 0x20},
    {"MAIL_JOB_TIME890", 0x20},
    {"MAIL_JOB_TIME80", 0x40},
    {"MAIL_JOB_TIME50", 0x80},
    {"MAIL_JOB_STAGE_OUT", 0x100},
    {"MAIL_ARRAY_TASKS", 0x200},
    {"MAIL_INVALID_DEPEND", 0x400},
    {"ESLURM_INVALID_PARTITION_NAME", 2000},
    {"ESLURM_DEFAULT_PARTITION_NOT_SET", 2001},
    {"ESLURM_ACCESS_DENIED", 2002},
    {"ESLURM_REQUESTED_NODES_NOT_IN_PARTITION", 2004},
    {"ESLURM_TOO_MANY_REQUESTED_CPUS", 2005},
    {"ESLURM_INVALID_NODE_COUNT", 2006},
    {"ESLURM_JOB_MISSING_SIZE_SPECIFICATION", 2008},
    {"ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE", 2014},
    {"ESLURM_INVALID_ACCOUNT", 2045},
    {"ESLURM_INVALID_LICENSES", 2048},
    {"ESLURM_ACCOUNTING_POLICY", 2050},
    {"ESLURM_INVALID_TIME_LIMIT", 2051},
    {"ESLURM_INVALID_QOS", 2066},
    {"ESLURM_INVALID_GRES", 2072},
    {"ESLURM_MISSING_TIME_LIMIT", 8000},
};

}  // namespace

void add_lua_api(lua_State* lua, const std::string& cluster_name) {
  luaL_newlib(lua, kFunctions);
  for (const auto& [name, value] : kConstants) {
    push_value(lua, value);
    lua_setfield(lua, -2, name);
  }
  lua_pushlstring(lua, cluster_name.data(), cluster_name.size());
  lua_setfield(lua, -2, "CLUSTER_NAME");
  lua_setglobal(lua, "slurm");
  // Lua 5.1's, with which many scripts were written
  lua_getglobal(lua, "table");
  lua_getfield(lua, -1, "unpack");
  lua_setglobal(lua, "unpack");
  lua_pop(lua, 1);
  lua_getglobal(lua, "load");
  lua_setglobal(lua, "loadstring");
  // of the controller
  lua_getglobal(lua, "os");
  lua_pushnil(lua);
  lua_setfield(lua, -2, "exit");
  lua_pop(lua, 1);
}

void push_lua_table(lua_State* lua, LuaFields& fields) {
  struct Function {
    const char* name;
    lua_CFunction function;
  };
  constexpr Function kOfTables[] = {{"__index", guarded<get_field>},
                                    {"__newindex", guarded<set_field>},
                                    {"__pairs", guarded<all_fields>}};
  lua_newtable(lua);
  lua_newtable(lua);
  for (const auto& [name, function] : kOfTables) {
    lua_pushinteger(lua, static_cast<lua_Integer>(LuaScript::of(lua).number_of_call()));
    lua_pushlightuserdata(lua, &fields);
    lua_pushcclosure(lua, function, 2);
    lua_setfield(lua, -2, name);
  }
  lua_setmetatable(lua, -2);
}

}  // namespace sluice::ctld
