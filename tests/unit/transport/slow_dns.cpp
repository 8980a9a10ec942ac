// Names that begin with "slow" take 3 seconds to look up: the program's own getaddrinfo stands
// before libc's, as a slow name server would behind it.
#include <chrono>
#include <cstring>
#include <thread>

#include <dlfcn.h>
#include <netdb.h>

extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* node,
                                                                  const char* service,
                                                                  const addrinfo* hints,
                                                                  addrinfo** result) {
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node != nullptr && std::strncmp(node, "slow", 4) == 0) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    return EAI_NONAME;
  }
  return real(node, service, hints, result);
}
