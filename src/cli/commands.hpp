// The entry points of the commands, one line each. main.cpp has the table of their names; a new
// command adds a line here, a row there and its name to CMakeLists.txt.
#pragma once

namespace sluice::cli {

struct Command {
  const char* name;
  int (*run)(int argc, char** argv);  // argv[0] is the name; gives the exit status
};

// Slurm's names, each also a hard link to the binary.
int sacct_main(int argc, char** argv);
int sacctmgr_main(int argc, char** argv);
int salloc_main(int argc, char** argv);
int sattach_main(int argc, char** argv);
int sbatch_main(int argc, char** argv);
int sbcast_main(int argc, char** argv);
int scancel_main(int argc, char** argv);
int seff_main(int argc, char** argv);
int scontrol_main(int argc, char** argv);
int scrontab_main(int argc, char** argv);
int sdiag_main(int argc, char** argv);
int sinfo_main(int argc, char** argv);
int sprio_main(int argc, char** argv);
int squeue_main(int argc, char** argv);
int sreport_main(int argc, char** argv);
int sshare_main(int argc, char** argv);
int srun_main(int argc, char** argv);
int sstat_main(int argc, char** argv);
int strigger_main(int argc, char** argv);

// `sluice NAME …`
int backup_main(int argc, char** argv);
int restore_main(int argc, char** argv);
int check_main(int argc, char** argv);
int down_main(int argc, char** argv);
int compatibility_main(int argc, char** argv);
int explain_main(int argc, char** argv);
int sim_main(int argc, char** argv);
int up_main(int argc, char** argv);
int usage_main(int argc, char** argv);

}  // namespace sluice::cli
