"""The house rules as data. A new folder or library needs a line here, in the same commit."""

import re
from dataclasses import dataclass, field

# ---- which folder may include which ------------------------------------------------------------

PORTS = ("plugin/message", "plugin/broker", "plugin/transport", "ledger", "classifiers")
BASE = ("plugin/core", "plugin/crypto")
EVERYTHING = ("*",)

# Folder -> folders it may include, beside itself. The longest matching folder counts, a file that
# is named counts before its folder. "/*" stands for each folder below; none may see another.
MODULES = {
    "plugin/include/sendonce/abi": (),
    "plugin/core": (),
    "plugin/crypto": ("plugin/core",),
    "plugin/message": (*BASE, "plugin/broker"),
    "plugin/broker": ("plugin/core",),
    "plugin/broker/nats": (*BASE, "plugin/broker"),
    "plugin/transport": ("plugin/core",),
    "plugin/transport/curl": (*BASE, "plugin/transport"),
    "plugin/transport/smtp": (*BASE, "plugin/transport", "plugin/transport/curl"),
    "plugin/transport/h2": (*BASE, "plugin/transport", "plugin/transport/curl",
                            "plugin/transport/smtp"),
    "ledger": BASE,
    "ledger/*": (*BASE, "ledger"),
    "classifiers": (*BASE, "plugin/message", "plugin/transport"),
    "classifiers/*": (*BASE, "plugin/message", "plugin/transport", "classifiers",
                      "plugin/include/sendonce/abi"),
    "config/schema.hpp": (*BASE, "plugin/message"),  # the typed values, a port like the others
    "config": (*BASE, "plugin/message", "config/schema.hpp"),
    "plugin/pipeline": (*BASE, *PORTS, "config/schema.hpp"),
    "plugin/module/http": ("plugin/core",),
    "plugin/module/admin": ("plugin/core", "plugin/module/http"),
    "plugin/module/loader": ("plugin/core", "classifiers", "classifiers/foreign"),
    "plugin/module": EVERYTHING,
    "plugin/host": EVERYTHING,
    "plugin/cli": EVERYTHING,
    "tests": EVERYTHING,
    "examples": EVERYTHING,
}

# Nobody sees these but they themselves, each other and the tests.
TOP = ("plugin/module", "plugin/host", "plugin/cli")
MAY_SEE_TOP = (*TOP, "tests", "examples")

# The one file of a module that knows its variants.
REGISTRIES = {
    "classifiers/registry.cpp": "classifiers/",
}

# ---- log events --------------------------------------------------------------------------------

# Every event that is logged stands in this table, and every one in the table is logged.
EVENTS_DOCUMENT = "docs/operations.md"
_EVENT = r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+"
EVENT = re.compile(f'"({_EVENT})"')
# The first argument of a log call, or what stands right after a level.
EVENT_ARGUMENT = re.compile(
    r'\b(?:debug|info|warn|error|failed)\([^,;{}]*|\bLevel::\w+\s*,\s*"[^"]*"|\.event\s*=\s*"[^"]*"')
EVENT_LISTED = re.compile(rf"^\| `({_EVENT})` \|", re.MULTILINE)

# ---- which file may include which library ------------------------------------------------------


@dataclass(frozen=True)
class Library:
    name: str
    header: re.Pattern
    places: tuple  # path prefixes


def library(name, header, *places):
    return Library(name, re.compile(header), places)


LIBRARIES = (
    library("cnats", r"nats/", "plugin/broker/nats/"),
    library("LMDB", r"lmdb\.h$", "ledger/lmdb/"),
    library("libcurl", r"curl/", "plugin/transport/", "tests/unit/transport/", "tests/bench/sender/"),
    library("nghttp2", r"nghttp2/", "plugin/transport/h2/", "tests/support/",
            "tests/unit/transport/"),
    library("OpenSSL", r"openssl/", "plugin/crypto/", "plugin/transport/tls", "tests/support/",
            "tests/unit/transport/", "tests/unit/crypto/"),
    library("toml11", r"toml(\.hpp$|11/)", "config/", "tests/support/script_toml.cpp"),
    # A witness must not share the parsers of what it watches: the fake provider has its own.
    library("simdjson", r"simdjson(\.h$|/)", "plugin/message/", "tests/support/payload_checks.cpp"),
    library("spdlog", r"spdlog/", "plugin/core/log.cpp"),
    library("fmt", r"fmt/", "plugin/core/log.cpp"),
    # Where speed does not matter: one file a module, behind an interface without it.
    library("nlohmann-json", r"nlohmann/", "plugin/module/", "plugin/cli/", "tests/",
            "plugin/broker/nats/api_json.cpp", "classifiers/json_tree.cpp"),
    library("CLI11", r"CLI/", "plugin/host/", "plugin/cli/", "tests/support/", "tests/bench/",
            "tests/simulation/", "tests/truth/"),
    library("prometheus-cpp", r"prometheus/", "plugin/module/"),
    library("libmicrohttpd", r"microhttpd\.h$", "plugin/module/http/"),
    library("dlopen", r"dlfcn\.h$", "plugin/module/loader/", "tests/"),
    library("hiredis", r"hiredis/", "tests/bench/"),
    library("SQLite", r"sqlite3\.h$", "tests/bench/"),
    library("libpq", r"(postgresql/)?libpq", "tests/bench/"),
    library("a test library", r"(gtest|gmock|rapidcheck|benchmark)(/|\.h)", "tests/"),
)

SYSTEM_HEADERS = re.compile(
    r"(sys|netinet|arpa|net|linux)/[a-z0-9_]+\.h|[a-z]+intrin\.h|arm_acle\.h"
    r"|(assert|ctype|dirent|dlfcn|errno|fcntl|fnmatch|ifaddrs|limits|netdb|poll|pthread|pwd|grp"
    r"|sched|signal|spawn|stdbool|stddef|stdint|stdio|stdlib|string|sysexits|syslog|termios|time"
    r"|unistd|inttypes|getopt|link|malloc|resolv)\.h")

# Decisions without input and output: no thread, no file, no socket, no C library of the system.
PURE = ("plugin/pipeline/", "plugin/message/", "classifiers/")
IMPURE_HEADERS = re.compile(
    r"(thread|mutex|shared_mutex|condition_variable|future|fstream|iostream|filesystem|latch"
    r"|semaphore|barrier|stop_token|.*\.h)")

# ---- what may not be written -------------------------------------------------------------------

LIBRARY = ("plugin/", "ledger/", "classifiers/", "config/")
ADAPTERS = ("plugin/broker/nats/", "plugin/transport/h2/", "plugin/transport/curl/", "ledger/lmdb/")
PROGRAMS = ("plugin/host/", "plugin/cli/")


@dataclass(frozen=True)
class Banned:
    pattern: re.Pattern
    where: tuple
    unless: tuple
    why: str
    raw: bool = field(default=False)  # comments and strings too, in every text file


def banned(pattern, why, where=LIBRARY, unless=(), raw=False):
    return Banned(re.compile(pattern), where, unless, why, raw)


FREE = r"(?<![\w.>])"  # not a member, not the end of a longer name

BANNED = (
    banned(r"\b(system_clock|steady_clock|high_resolution_clock)\b"
           r"|\b(clock_gettime|gettimeofday)\b|" + FREE + r"(?<!\w::)(std::)?time\s*\(",
           "time comes from Clock (plugin/core/clock.hpp)",
           unless=("plugin/core/clock.cpp", *ADAPTERS)),
    banned(FREE + r"(std::)?s?rand\s*\(|\b(random_device|mt19937(_64)?|getrandom)\b",
           "chance comes from Random (plugin/core/random.hpp)",
           unless=("plugin/core/random.cpp", "plugin/crypto/")),
    banned(r"\bsleep_(for|until)\b|" + FREE + r"(::)?(u|nano)?sleep\s*\(",
           "nobody sleeps: wait for the condition, with a deadline",
           where=(*LIBRARY, "tests/"),
           # A bench sets a pace, and a fault that is slowness has to be slow.
           unless=(*ADAPTERS, "tests/support/", "tests/bench/",
                   "tests/unit/transport/slow_dns.cpp")),
    banned(r"\bnatsSubscription_Fetch\b",
           "natsSubscription_Fetch of cnats 3.4.1 overflows the heap", where=("",)),
    banned(r"\bcurl_version\s*\(",
           "curl_version() may resolve the host's name and block; use curl_version_info",
           where=("",)),
    banned(r"\bshared_ptr\b|\bmake_shared\b", "ownership is unique; shared_ptr needs an ADR",
           unless=("plugin/core/log.cpp",)),  # spdlog takes its sinks so
    banned(r"\bthrow\b", "expected failures are Result<T>, broken invariants SO_ASSERT"),
    banned(FREE + r"(std::|::)?(exit|_exit|quick_exit|atexit|setenv|putenv|setlocale|sigaction"
           r"|signal)\s*\(",
           "a library neither ends nor changes its process",
           unless=PROGRAMS),
    banned(r"\busing\s+namespace\b(?!\s+std::(\w+::)*\w*literals)",
           "no using namespace", where=("",)),
    banned(r"\b(TODO|FIXME|XXX)\b", "finish it or write an issue", where=("",), raw=True),
    banned(r"(?<![\w.\-}])/(work|root|home/\w+|Users/\w+)/",
           "a path of one machine", where=("",), raw=True),
)

# These rules quote what they forbid.
SELF = "tests/layers/"

# By others, kept as it came.
VENDORED = ("plugin/cli/page/assets/uplot/",)

# ---- sizes --------------------------------------------------------------------------------------

MAX_LINES = {".cpp": 500, ".c": 500, ".hpp": 250, ".h": 250, ".py": 500, ".sh": 300, ".js": 500,
             ".mjs": 500, ".css": 500}
MAX_COLUMNS = 100
MAX_FUNCTION_LINES = 70
