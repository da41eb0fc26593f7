#!/usr/bin/env bash
# records show: what a failed trial does not have is a dash, no number.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
export TILESCOPE_RECORDS=$dir/r.db
here=$("$TILESCOPE" records list --json | sed -n 's/.*"machine": "\([^"]*\)".*/\1/p')
task='"spec": "gmm m=32 k=16 n=32", "threads": 1, "isa": "avx2", "machine": "'$here'"'
head='"format": 1, "run": "0123456789abcdef", "strategy": "evo", "seed": 1, '$task
at='"2026-01-02T03:04:05Z"'
none='"latency_ms": null, "gflops": null, "max_rel_err": null, "compile_s": null,'
none+=' "measure_s": null, "features": null'
cat > "$dir/a.jsonl" << END
{"kind": "run", $head, "budget": 9, "options": null, "started": $at, "ended": null, \
"state": "stopped"}
{"kind": "record", $head, "trial": 1, "steps": [], "outcome": "crash", "reason": "crashed", \
"verified": false, $none, "version": "0.1.0", "date": $at}
END

t 0 'added 1 record' records import "$dir/a.jsonl"
t 0 'crash' records show 1
same 'no times, no spread, no speed' '- - - -' \
     "$(grep -m 1 -oE 'evo +- +- +- +-( |$)' <<< "$out" | sed 's/evo//' | xargs echo)"

finish
