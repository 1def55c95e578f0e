// MPI_Comm_spawn: what a task asks its srun for, and what a step is told that was started for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/describe.hpp"

namespace sluice::protocol {

// What the new tasks find in their key-value space from the start.
struct MpiPair {
  std::string key;
  std::string value;
  friend bool operator==(const MpiPair&, const MpiPair&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &MpiPair::key);
    field(2, "value", &MpiPair::value);
  }
};
struct MpiCommand {
  std::vector<std::string> words;  // program and arguments
  uint32_t tasks = 0;
  std::string work_dir;  // "wdir" of its info; empty: srun's
  std::string hosts;     // "host"; empty: any of the job's nodes
  friend bool operator==(const MpiCommand&, const MpiCommand&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "words", &MpiCommand::words);
    field(2, "tasks", &MpiCommand::tasks);
    field(3, "work_dir", &MpiCommand::work_dir);
    field(4, "hosts", &MpiCommand::hosts);
  }
};
// The data of an MpiMessage of kSpawn: one world of the tasks of all commands, in their order.
struct MpiSpawnRequest {
  std::vector<MpiCommand> commands;
  std::vector<MpiPair> pairs;
  template <class V>
  static void describe(V&& field) {
    field(1, "commands", &MpiSpawnRequest::commands);
    field(2, "pairs", &MpiSpawnRequest::pairs);
  }
};
// In the environment of the step that is started for it, as text (common/step/mpi_spawned.hpp).
struct MpiSpawned {
  std::string spawner;  // PMI's name of the step whose task asked
  // of each command: a task's application number is its command's place
  std::vector<uint32_t> tasks;
  std::vector<MpiPair> pairs;
  template <class V>
  static void describe(V&& field) {
    field(1, "spawner", &MpiSpawned::spawner);
    field(2, "tasks", &MpiSpawned::tasks);
    field(3, "pairs", &MpiSpawned::pairs);
  }
};

}  // namespace sluice::protocol
