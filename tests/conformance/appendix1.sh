#!/usr/bin/env bash
# Runs every configuration of appendix1.txt: layouts applied, result checked against the reference.
# Prints a row each and a total; exit 1 when one is not verified.  WORD: only the names with it.
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=${TILESCOPE:-build/release/tilescope}
word=${1:-}
passed=0 failed=0
while IFS='|' read -r name spec steps; do
    [[ $name == \#* || -z $name || $name != *$word* ]] && continue
    start=$(date +%s.%N)
    text=$(tr ';' '\n' <<< "$steps" | sed 's/^ *//' |
           "$bin" run "$(xargs <<< "$spec")" --steps - --meters none 2>&1)
    took=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
    if line=$(grep '^verified: true' <<< "$text"); then
        passed=$((passed + 1))
        printf '%-10s %6s s  %s\n' "$name" "$took" "$line"
    else
        failed=$((failed + 1))
        printf '%-10s %6s s  NOT VERIFIED\n%s\n' "$name" "$took" "$text"
    fi
done < tests/conformance/appendix1.txt
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
