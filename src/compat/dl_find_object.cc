// libgcc's unwinder as built on glibc 2.36 finds an exception's frames by _dl_find_object
// (GLIBC_2.35). Ours is hidden and over dl_iterate_phdr, which is what libgcc used before, so that
// the binary starts on glibc 2.34. It sees libraries that were opened at run time too.
//
// Not lock-free as glibc's is (dl_iterate_phdr takes the loader's lock): for exceptions, not for a
// path that unwinds often.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

// Fills the result if one of the object's segments holds the address. Returns 1 to end the walk.
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
  // Pointers out of the loader's integers: that is what program headers hold.
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
