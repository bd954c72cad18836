// A stand-in for a vendor's library: opened at run time, with a C++ runtime of its own.
#include <new>
#include <stdexcept>

extern "C" {

void ThrowOut() { throw std::runtime_error("thrown by the library"); }

// Returns 1 if the exception was thrown and caught inside the library.
int ThrowAndCatch() {
  try {
    ThrowOut();
  } catch (const std::runtime_error&) {
    return 1;
  }
  return 0;
}

// Lets an exception of `callback` pass through a frame with a destructor. With a null callback,
// returns how often that destructor has run.
int CallBack(void (*callback)()) {
  struct Guard {
    int* count;
    ~Guard() { ++*count; }
  };
  static int unwound = 0;
  if (callback == nullptr) return unwound;
  Guard guard{&unwound};
  callback();
  return 0;
}

// Returns 1 if an exception of `callback` was caught here as a std::exception.
int CatchFrom(void (*callback)()) {
  try {
    callback();
  } catch (const std::exception&) {
    return 1;
  }
  return 0;
}

void* New() { return ::operator new(100); }
void Delete(void* memory) { ::operator delete(memory); }
}
