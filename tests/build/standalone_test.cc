// Tests of a program linked like `assay`: static C++ runtime, unwinder lookup and operator new of
// its own. It opens a library that has its own C++ runtime with dlopen; the environment variable
// ASSAY_TEST_LIBRARY is the path of that library.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#ifdef ASSAY_HAVE_MIMALLOC
#include <mimalloc.h>
#endif

namespace {

class Library {
 public:
  Library() {
    const char* path = std::getenv("ASSAY_TEST_LIBRARY");
    REQUIRE(path != nullptr);
    handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) FAIL(dlerror());
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Function>
  Function* Find(const char* name) {
    void* symbol = dlsym(handle_, name);
    REQUIRE(symbol != nullptr);
    return reinterpret_cast<Function*>(symbol);
  }

 private:
  void* handle_ = nullptr;
};

void ThrowHere() { throw std::runtime_error("thrown by the program"); }

std::string Caught(void (*thrower)()) {
  try {
    thrower();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("the program catches its own exception") {
  CHECK(Caught(ThrowHere) == "thrown by the program");
  std::string in_thread;
  std::thread([&in_thread] { in_thread = Caught(ThrowHere); }).join();
  CHECK(in_thread == "thrown by the program");
}

TEST_CASE("the program catches an exception thrown by an opened library") {
  Library library;
  CHECK(Caught(library.Find<void()>("ThrowOut")) == "thrown by the library");
}

TEST_CASE("an opened library catches its own exception") {
  Library library;
  CHECK(library.Find<int()>("ThrowAndCatch")() == 1);
}

TEST_CASE("an exception of the program passes through a library's frames and unwinds them") {
  Library library;
  auto* call_back = library.Find<int(void (*)())>("CallBack");
  int before = call_back(nullptr);
  std::string text;
  try {
    call_back(ThrowHere);
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  CHECK(text == "thrown by the program");
  CHECK(call_back(nullptr) == before + 1);
}

TEST_CASE("an opened library catches an exception of the program") {
  Library library;
  CHECK(library.Find<int(void (*)())>("CatchFrom")(ThrowHere) == 1);
}

TEST_CASE("operator new throws bad_alloc if the memory is not available") {
  volatile std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK_THROWS_AS(::operator new(most), std::bad_alloc);
  CHECK(::operator new(most, std::nothrow) == nullptr);
}

TEST_CASE("std::random_device gives different numbers") {
  std::random_device device;
  std::random_device arc4random("arc4random");
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 8; ++i) seen.insert({device(), arc4random()});
  CHECK(seen.size() > 8);
}

#ifdef ASSAY_HAVE_MIMALLOC
TEST_CASE("operator new is mimalloc's, malloc and a library's operator new are not") {
  Library library;
  void* ours = ::operator new(100);
  void* plain = std::malloc(100);
  void* theirs = library.Find<void*()>("New")();
  CHECK(mi_is_in_heap_region(ours));
  CHECK_FALSE(mi_is_in_heap_region(plain));
  CHECK_FALSE(mi_is_in_heap_region(theirs));
  library.Find<void(void*)>("Delete")(theirs);
  std::free(plain);
  ::operator delete(ours);
}
#endif
