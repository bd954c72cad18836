// Descriptors 0, 1 and 2, whoever started the program.
#pragma once

namespace assay {

// Those that are closed lead to /dev/null from now on, the wrong way round: reading standard input
// or writing to the others is an error, and no file or socket that is opened later is taken for
// one of them. Ends the process where that cannot be had.
//
// To be called before anything is opened. Libraries do that already before main(), so it is called
// before their initialization too: it uses nothing but the kernel.
void FillStandardStreams();

}  // namespace assay
