// Compiled as C++, so that mi_new() throws std::bad_alloc where C could only abort.
#include "src/static.c"
