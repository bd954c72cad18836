// operator new and delete from mimalloc; malloc stays glibc's, so memory that a library opened at
// run time allocates or frees is never ours.
#include <mimalloc-new-delete.h>
