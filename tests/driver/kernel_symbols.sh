#!/bin/sh
# usage: kernel_symbols.sh OBJECT_OR_ARCHIVE...
# Fails if an object compiled for one instruction-set level shares a function with the rest of the
# program: the linker keeps one of several equal names, perhaps this one, with instructions that
# other machines do not have. Local names are allowed, and so are shared names that contain the
# level's own namespace, which no other object has.
set -eu
own='Eigen(X86V[0-9]|Baseline)::'
status=0
for file in "$@"; do
  shared=$(nm --demangle "$file" | grep -E ' [VWu] ' | grep -v -E "$own" || true)
  if [ -n "$shared" ]; then
    echo "$file shares with the rest of the program:"
    echo "$shared"
    status=1
  fi
  if ! nm --demangle "$file" | grep -q -E "$own"; then
    echo "$file has no function of a renamed library: is this the right file?"
    status=1
  fi
done
exit $status
