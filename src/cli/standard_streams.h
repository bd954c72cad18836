// Makes sure that descriptors 0, 1 and 2 are open, however the program was started.
#pragma once

namespace assay::cli {

// Opens /dev/null on each of them that is closed, in the wrong direction: reading standard input or
// writing to the others fails, and no file or socket opened later can get one of these numbers.
// Ends the process with status 1 if /dev/null cannot be opened.
//
// Call it before anything opens a descriptor. Libraries open descriptors before main(), so call it
// before their initialization. It therefore uses only system calls.
void FillStandardStreams();

}  // namespace assay::cli
