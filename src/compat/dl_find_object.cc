// Replaces _dl_find_object, so that the binary starts on glibc 2.34: libgcc's unwinder built on
// glibc 2.36 calls it (GLIBC_2.35) to find an exception's frames. This one has hidden visibility
// and uses dl_iterate_phdr, as libgcc did before. It also finds libraries that were opened at run
// time.
//
// It is not lock-free as glibc's is, because dl_iterate_phdr takes the loader's lock: good enough
// for exceptions, not for code that unwinds often.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

// Fills in the result if one of the object's segments contains the address. Returns 1 to stop the
// iteration.
int Look(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const ElfW(Phdr)* frames = nullptr;
  bool found = false;
  std::uintptr_t start = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_GNU_EH_FRAME) frames = &header;
    if (header.p_type != PT_LOAD) continue;
    std::uintptr_t low = info->dlpi_addr + header.p_vaddr;
    std::uintptr_t high = low + header.p_memsz;
    if (low < start) start = low;
    if (high > end) end = high;
    if (search->address >= low && search->address < high) found = true;
  }
  if (!found) return 0;
  *search->result = {};
  // Program headers hold addresses as integers, hence the casts.
  search->result->dlfo_map_start = reinterpret_cast<void*>(start);
  search->result->dlfo_map_end = reinterpret_cast<void*>(end);
  if (frames != nullptr) {
    search->result->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + frames->p_vaddr);
  }
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(Look, &search) == 1 && result->dlfo_eh_frame != nullptr ? 0 : -1;
}
