// A program of the site that is to be in control groups before it begins; see protocol::kRunInGroupsMode.
#pragma once

namespace sluice::stepd {

// `arguments`: FILE… -- PROGRAM…, with a null pointer after the last. The exit status, where the program does not begin.
int run_in_groups(int count, char** arguments);

}  // namespace sluice::stepd
