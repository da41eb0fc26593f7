#!/usr/bin/env bash
# What the meter papi says of PAPI's library: it is none, is incomplete, does not start, or counts.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
version=$(gcc -E -dM - <<< '#include <papi.h>' \
    | sed -nE 's/^#define PAPI_VERSION .*\(([0-9]+),([0-9]+).*/\1.\2/p')
so=$dir/libpapi.so.$version
export LD_LIBRARY_PATH=$dir

# fake FLAGS...: the library of tests/fake/papi.c
fake() {
    gcc -shared -fPIC -O1 -Wall -Wextra -Werror "$@" -o "$so" "$(dirname "$0")/../fake/papi.c"
}

# script WORD REGEX: what the line of the meter says while the library does WORD
script() { FAKE_PAPI=$1 t 0 "^papi +(yes|no) .*: .*$2" meters; }

echo text > "$so"
t 0 "^papi +no .*; PAPI is missing: $so: .*\(Debian: libpapi7.0\)$" meters
fake -DLACKS
t 0 "^papi +no .*; libpapi.so.$version lacks functions that PAPI $version has$" meters
fake
t 0 '^papi +yes .*as PAPI_L1_DCM$' meters
script version 'PAPI does not start: it is of another version$'
script start 'PAPI does not start: it is broken$'
script threads 'PAPI does not start: it is broken$'
none='PAPI cannot count PAPI_TOT_INS'
script presets "$none: no such event.*; software events are available \(run --events papi-sw\)$"
script nothing "$none: no such event(; this VM exposes no PMU \(no cpu event source\))?$"
script nameless "$none: unknown error(; this VM .*)?$"
script disabled "$none: no such event; its perf_event component is disabled: an unknown CPU"
# The eighth event of the set, by the fifth: misses of L2 and of L1.
t 0 '^ *"value": 160.0,$' run "$gmm" --meters papi --json
finish
