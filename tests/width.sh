#!/usr/bin/env bash
# No line over 100 columns, and no tabs or trailing blanks, in what people read as source.
# The tables (*.def) are spared the first: a row is a line.
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8

echo "1..2"
n=0
check() {
    n=$((n + 1))
    local bad
    bad=$(find app sessions explorer profile kernels tests .ci \
              -path tests/golden -prune -o -type f \
              \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -path .ci/run \) -print0 \
          | xargs -0 grep -nE "$2" | grep -vE "${3:-^$}")
    if [ -z "$bad" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed -E 's/^([^:]*:[0-9]+):.*/# \1/' <<< "$bad"
    fi
    [ -z "$bad" ]
}
status=0
check "no line over 100 columns" '^.{101,}' '^[^:]*\.def:' || status=1
check "no tabs, no trailing blanks" $'\t|[ ]+$' || status=1
exit $status
