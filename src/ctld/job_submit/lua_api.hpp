// What scripts in Lua find: the table `slurm`, with constants, the log and messages for the user,
// and tables of which each field is asked of the controller. Both functions may raise Lua's errors.
#pragma once

#include <string>

#include "ctld/job_submit/lua_fields.hpp"

struct lua_State;

namespace sluice::ctld {

// `slurm`, and what scripts for Lua 5.1 take for granted.
void add_lua_api(lua_State* lua, const std::string& cluster_name);

// Pushes a table whose fields are these. A script that keeps it beyond the present call finds that
// it is no longer there.
void push_lua_table(lua_State* lua, LuaFields& fields);

}  // namespace sluice::ctld
