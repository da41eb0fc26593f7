#!/usr/bin/env bash
# The machine model: measured once, kept, measured again when the file is no good or on request.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export XDG_CACHE_HOME=$dir/cache
file=$dir/cache/tilescope/machine.json

t 0 '^FMA, GFLOP/s' machine --time 0.02
first=$(cat "$file")
t 0 '"bandwidth_gb_s": \[' machine --json
t 0 '^  plain ' machine
t 0 '^  DRAM, copy ' machine
same 'later calls measure nothing' "$first" "$(cat "$file")"
echo '{"format": 1' > "$file"
t 0 'GB/s' machine --time 0.02
same 'a damaged file is replaced' '{' "$(head -n 1 "$file")"
before=$(cat "$file")
t 0 'measure' machine --measure --time 0.02
if [ "$before" = "$(cat "$file")" ]; then flunk 'measured again'; else pass 'measured again'; fi
same 'nothing is left beside the file' 'machine.json objects' "$(ls "$dir/cache/tilescope" | xargs)"
finish
