// Makes and removes a job's mount namespace; see common/protocol/container.hpp.
#pragma once

namespace sluice::stepd {

// `arguments` as there, without the program's name and the mode. The exit status.
int make_namespace(int count, char** arguments);
int remove_namespace(int count, char** arguments);

}  // namespace sluice::stepd
