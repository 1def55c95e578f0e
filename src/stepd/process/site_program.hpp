// A program of the site that must not begin before its agent has noted it; see
// protocol::kRunWhenToldMode.
#pragma once

namespace sluice::stepd {

// `arguments`: FILE… -- PROGRAM…, with a null pointer after the last; the word to begin comes on
// `told`. The exit status, where the program does not begin.
int run_when_told(int told, int count, char** arguments);

}  // namespace sluice::stepd
