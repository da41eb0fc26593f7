#!/usr/bin/env bash
# --help: options with their letters and operands, a line each.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

t 0 '^  -s, --steps FILE +apply the step lines' --help
t 0 '^  -j, --threads N +threads' run --help
t 0 '^  --baselines \[A,B\] +' --help
for command in run bench show export tune study records; do
    "$TILESCOPE" $command --help > "$dir/help"
    same "each option of $command once, letters first" '' \
         "$(grep -E '^  -' "$dir/help" | grep -vE '^  (-[A-Za-z], )?--[a-z-]+( [^ ].*)? ')"
    same "no option of $command twice" '' \
         "$(grep -oE '^  (-., )?--[a-z-]+' "$dir/help" | sort | uniq -d)"
done
t 0 '^gmm: matrix multiplication$' help gmm
t 0 '^    key O: leave out each step in turn' help ablate
t 0 '^dump FILE$' help dump
t 2 "no help on 'dum'" help dum

finish
