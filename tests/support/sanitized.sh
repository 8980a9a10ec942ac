#!/bin/sh
# sanitized.sh DIR COMMAND...: runs a test under the sanitizers. Fails when the command fails, and
# when any process that it started, at any depth, wrote a report. Reports go to DIR: a test
# may throw the stderr of a daemon away, kill it, or not look at how it ended.
set -eu
here=$(dirname "$0")
reports=$1
shift
rm -rf "$reports"
mkdir -p "$reports"
common=log_path=$reports/report
asan=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
export ASAN_OPTIONS="$common:$asan"
export LSAN_OPTIONS="suppressions=$here/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="$common:print_stacktrace=1"
export TSAN_OPTIONS="$common:suppressions=$here/tsan.supp:second_deadlock_stack=1"
status=0
"$@" || status=$?
for report in "$reports"/report.*; do
  [ -e "$report" ] || continue
  status=1
  printf '\n==== %s\n' "$report"
  cat "$report"
done
exit "$status"
