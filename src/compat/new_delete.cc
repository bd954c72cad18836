// Takes operator new and delete from mimalloc. malloc stays glibc's, so a library that is opened at
// run time never allocates or frees memory of mimalloc.
#include <mimalloc-new-delete.h>
