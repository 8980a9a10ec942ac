#!/usr/bin/env python3
"""The checker must find each kind of violation, and nothing in a clean tree."""

import tempfile
import unittest
from pathlib import Path

import source
from check import Checker

CLEAN = {
    "plugin/core/CMakeLists.txt": "sendonce_library(NAME core SOURCES clock.cpp)\n",
    "plugin/core/clock.hpp": "#pragma once\n#include <chrono>\n",
    "plugin/core/clock.cpp": '#include "plugin/core/clock.hpp"\n#include <time.h>\n'
                             "auto now() { return clock_gettime(CLOCK_REALTIME, nullptr); }\n",
    "plugin/module/runtime.hpp": "#pragma once\n",
    "ledger/ledger.hpp": '#pragma once\n#include "plugin/core/clock.hpp"\n',
    "ledger/lmdb/store.hpp": '#pragma once\n#include <lmdb.h>\n#include "ledger/ledger.hpp"\n',
    "ledger/memory/store.hpp": "#pragma once\n",
    "plugin/include/sendonce/abi/base.h": "#include <stdint.h>\n",
}


def findings(changes):
    """What the checker says of the clean tree with `changes` put into it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in {**CLEAN, **changes}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return [f"{path}:{line}: {text}" for path, line, text in Checker(root).run()]


class Rules(unittest.TestCase):
    def expect(self, changes, *wanted):
        found = findings(changes)
        self.assertEqual(len(found), len(wanted), found)
        for line, want in zip(found, wanted):
            self.assertIn(want, line)

    def pipeline(self, code):
        """A header of the pipeline that holds `code` from line 2 on."""
        return {"plugin/pipeline/a.hpp": "#pragma once\n" + code}

    def test_a_clean_tree_is_clean(self):
        self.expect({})

    def test_dependencies_point_one_way(self):
        self.expect({"plugin/core/x.hpp": '#pragma once\n#include "ledger/ledger.hpp"\n'},
                    "plugin/core/x.hpp:2: plugin/core includes ledger/ledger.hpp")
        self.expect(self.pipeline('#include "ledger/lmdb/store.hpp"\n'),
                    "plugin/pipeline/a.hpp:2:")
        self.expect({"ledger/memory/x.hpp": '#pragma once\n#include "ledger/lmdb/store.hpp"\n'},
                    "ledger/memory includes ledger/lmdb/store.hpp")

    def test_a_port_is_open_to_the_pipeline(self):
        self.expect(self.pipeline('#include "ledger/ledger.hpp"\n'))

    def test_scripts_are_read_and_what_others_wrote_is_not(self):
        self.expect({"plugin/cli/page/assets/a.js": "// TODO\n" + "x" * 101 + "\n"},
                    "a.js:1: 'TODO'", "a.js:2: 101 columns")
        self.expect({"plugin/cli/page/assets/uplot/a.js": "// TODO\n"})

    def test_nobody_sees_the_module(self):
        self.expect(self.pipeline('#include "plugin/module/runtime.hpp"\n'),
                    "nobody includes plugin/module")
        self.expect({"tests/x.hpp": '#pragma once\n#include "plugin/module/runtime.hpp"\n'})

    def test_a_library_is_seen_in_its_place_only(self):
        self.expect({"ledger/x.hpp": "#pragma once\n#include <lmdb.h>\n"}, "LMDB is seen by")
        self.expect({"tests/x.hpp": "#pragma once\n#include <nats/nats.h>\n"}, "cnats is seen by")
        self.expect({"ledger/x.hpp": "#pragma once\n#include <boost/asio.hpp>\n"},
                    "of a library without a rule")

    def test_the_pipeline_has_no_threads_and_no_files(self):
        self.expect(self.pipeline("#include <thread>\n#include <unistd.h>\n#include <vector>\n"),
                    "a.hpp:2: <thread>", "a.hpp:3: <unistd.h>")

    def test_paths_start_at_the_root(self):
        self.expect({"ledger/x.hpp": '#pragma once\n#include "ledger.hpp"\n'}, "is no file")
        self.expect({"ledger/x.hpp": '#pragma once\n#include "sendonce/abi/base.h"\n'},
                    "ledger includes sendonce/abi/base.h")

    def test_own_header_first(self):
        self.expect({"plugin/core/clock.cpp": '#include <time.h>\n'
                                              '#include "plugin/core/clock.hpp"\n'},
                    'clock.cpp:1: include "plugin/core/clock.hpp" first')

    def test_a_folder_without_a_rule(self):
        self.expect({"plugin/extra/x.hpp": "#pragma once\n"}, "no rule")

    def test_banned_words(self):
        for code in ("auto t = std::chrono::steady_clock::now();\n", "auto t = time(nullptr);\n",
                     "auto t = std::time(nullptr);\n", "int r = rand();\n",
                     "std::random_device d;\n", "void f() { usleep(1); }\n",
                     "void f() { std::this_thread::sleep_for(s); }\n",
                     "void f() { natsSubscription_Fetch(); }\n", "auto v = curl_version();\n",
                     "std::shared_ptr<int> p;\n", "void f() { throw 1; }\n",
                     "void f() { std::exit(1); }\n", "using namespace std;\n",
                     "using namespace std::chrono;\n",
                     "// TODO later\n", "// see /home/" + "somebody/notes\n"):
            with self.subTest(code=code):
                self.expect(self.pipeline(code), "a.hpp:2: ")

    def test_words_that_only_look_banned(self):
        for code in ("// a steady_clock would be wrong here\n",
                     'auto s = "time(s) to sleep_for";\n', "auto t = row.time();\n",
                     "void f() { lifetime(1); brand(2); }\n", "auto c = loop->time(1);\n",
                     "auto n = curl_version_info(now);\n",
                     "using namespace std::chrono_literals;\n",
                     "using namespace std::literals;\n",
                     "using namespace std::string_view_literals;\n",
                     "void on_exit();\n",
                     'auto p = "/homework/x";\n', "int x = 1'000'000; int y = 0x1'a;\n"):
            with self.subTest(code=code):
                self.expect(self.pipeline(code))

    def test_words_in_their_place(self):
        self.expect({"ledger/lmdb/x.hpp": "#pragma once\nauto t = steady_clock::now();\n",
                     "plugin/host/x.hpp": "#pragma once\nvoid f() { exit(1); }\n",
                     "tests/support/x.hpp": "#pragma once\nvoid f() { usleep(1); }\n"})
        self.expect({"tests/unit/x.hpp": "#pragma once\nvoid f() { usleep(1); }\n"},
                    "nobody sleeps")

    def test_scripts_and_documents_are_read_too(self):
        self.expect({"docs/x.md": "FIX" + "ME\n"}, "docs/x.md:1:")
        self.expect({"packaging/tool": "#!/bin/sh\ncd /ro" + "ot/x\n"}, "packaging/tool:2:")

    def test_sizes(self):
        self.expect({"ledger/x.hpp": "#pragma once\n" * 251}, "x.hpp:251: 251 lines")
        self.expect({"ledger/x.hpp": "#pragma once\n" * 250})
        self.expect({"ledger/x.hpp": "#pragma once\n//" + "x" * 99 + "\n"}, "x.hpp:2: 101 columns")
        self.expect({"ledger/x.hpp": "#pragma once\n//" + "\u00fc" * 98 + "\n"})
        self.expect({"ledger/x.hpp": '#pragma once\nauto s = R"(' + "x" * 99 + ')";\n'})
        self.expect({"ledger/x.hpp": '#pragma once\nauto s = R"(' + "x" * 99 + ')" + f(1);\n'},
                    "columns")

    def test_every_source_is_built(self):
        self.expect({"plugin/core/b.cpp": "int b;\n"}, "no CMakeLists.txt names")
        self.expect({"plugin/core/lock.cpp": "int b;\n"}, "no CMakeLists.txt names")
        self.expect({"tests/fuzz/a.cpp": "int b;\n", "tests/fuzz/CMakeLists.txt":
                     "foreach(part a)\n add_executable(x ${part}.cpp)\nendforeach()\n"})
        self.expect({"tests/unit/m/a.cpp": "int b;\n",
                     "tests/unit/CMakeLists.txt": "sendonce_test(NAME m SOURCES m/a.cpp)\n"})


    def test_events_are_documented_and_real(self):
        logs = {"ledger/x.hpp": '#pragma once\nvoid f() {\n  log.warn(\n    "a.b_c", {});\n}\n'}
        self.expect(logs, "x.hpp:4: event a.b_c is not in the table")
        chosen = ('void f() { log.info(r.empty() ? "h2.up" : "h2.down", {}); '
                  'write(Level::warn, "h2.x"); }')
        self.expect({"ledger/x.hpp": "#pragma once\n" + chosen + "\n"}, "h2.down", "h2.up", "h2.x")
        self.expect({"ledger/x.hpp": '#pragma once\nvoid f() { report_error(in, "a.b"); }\n'})
        self.expect({**logs, "docs/operations.md": "| Event | Means |\n| `a.b_c` | x |\n"})
        self.expect({"docs/operations.md": "| `a.b` | x |\n"}, "operations.md:1: nothing logs")


class Functions(unittest.TestCase):
    def lengths(self, code):
        return {f.name: f.lines for f in source.functions(code)}

    def test_plain(self):
        self.assertEqual(self.lengths("int f(int a) {\n  return a;\n}\n"), {"f": 3})

    def test_signature_counts(self):
        self.assertEqual(self.lengths("int\nf(int a,\n  int b) {\n}\n"), {"f": 4})

    def test_inside_scopes(self):
        code = ("namespace a {\nnamespace {\nclass [[nodiscard]] C : public D {\n public:\n"
                "  void m() const {\n  }\n  int n{};\n  enum E { a, b };\n};\n}\n}\n")
        self.assertEqual(self.lengths(code), {"m": 2})

    def test_initializer_list(self):
        code = "C::C(int a)\n    : D{a},\n      b_{1, {2}},\n      c_(3) {\n  go();\n}\n"
        self.assertEqual(self.lengths(code), {"C::C": 6})

    def test_blocks_and_lambdas_belong_to_their_function(self):
        code = ("void f() {\n  if (a) {\n    g([&] {\n      return 1;\n    });\n  }\n}\n"
                "void h() {}\n")
        self.assertEqual(self.lengths(code), {"f": 7, "h": 1})

    def test_data_is_no_function(self):
        code = ("constexpr Row kTable[] = {\n  {a(1), {2}},\n};\nint x{f(1)};\n"
                "const auto kL = std::array{1, 2};\nvoid f() {\n}\n")
        self.assertEqual(self.lengths(code), {"f": 2})

    def test_braces_in_literals(self):
        code = "void f() {\n  g(\"}{\", '{', R\"(}})\");  // }\n}\nvoid h() {\n}\n"
        self.assertEqual(self.lengths(code), {"f": 3, "h": 2})

    def test_default_arguments_and_operators(self):
        code = ("void f(A a = {}, B b = B{}) {\n}\nbool operator==(C a, C b) {\n}\n"
                "auto g() -> std::vector<int> {\n}\nTEST(A, b) {\n}\n"
                "C& operator=(C&&) noexcept {\n}\n")
        self.assertEqual(list(self.lengths(code).values()), [2, 2, 2, 2, 2])

    def test_macros_do_not_upset_the_count(self):
        code = "#define BEGIN(x) \\\n  do { \\\n  x\nvoid f() {\n}\n"
        self.assertEqual(self.lengths(code), {"f": 2})


if __name__ == "__main__":
    unittest.main()
