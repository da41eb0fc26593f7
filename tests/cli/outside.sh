#!/usr/bin/env bash
# What is done to tilescope from outside: kills of it and of its compilers.
# tests/run.sh: takes 10 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db XDG_CACHE_HOME=$dir/cache
op='gmm m=16 k=8 n=32'
records() { "$TILESCOPE" records export 2> /dev/null | grep -c '"kind": "record"'; }

# compiler NAME: a compiler that runs standard input before the real one; $c is what it compiles.
compiler() {
    { printf '#!/bin/sh\ncase "$1" in --version) echo %s 1.0; exit;; -print-*) exit 1;; esac\n' "$1"
      printf 'cd %q || exit\nfor a; do case "$a" in *.c) c=$a;; esac; done\n' "$dir"
      cat
      echo 'exec cc "$@"'; } > "$dir/$1"
    chmod +x "$dir/$1"
}

# A compiler that is killed.
compiler once <<< 'mkdir once.done 2> /dev/null && kill -9 $$'
CC=$dir/once t 0 'GFLOP/s' run "$op" --meters clock --time 0.02
[ -d "$dir/once.done" ] && pass 'it was killed' || flunk 'it was killed'
compiler never <<< 'kill -9 $$'
CC=$dir/never t 3 'compiler never was killed \(signal 9: out of memory\?\) \[E_KILLED\]' \
    run "$op" --meters clock
CC=$dir/never t 3 'E_KILLED' bench "$op" "$gmm"
CC=$dir/never t 3 'the compiler never was killed' tune "$op" --budget 9 --baselines none --quiet
same 'nothing of it is in the records' 0 "$(records)"

# The compiler of one candidate is always killed, alone as well: the others are measured.
compiler picky <<'END'
[ "$(grep -c '^void ts_entry' "$c")" -gt 1 ] && kill -9 $$
sum=$(cksum < "$c") plain=$(grep -c 'for (long [mnk] = 0;' "$c")
echo >> alone
[ "$(wc -l < alone)" -gt 3 ] && [ "$plain" -lt 3 ] && mkdir chosen 2> /dev/null \
    && echo "$sum" > victim
[ "$sum" = "$(cat victim 2> /dev/null)" ] && kill -9 $$
END
CC=$dir/picky t 0 '^trials: +12 of 12, budget spent' tune "$op" --budget 12 --seed 7 \
    --strategy evo --baselines none
grep -qE '[0-9]+ environment' <<< "$out" && pass 'it is told' || flunk 'it is told' "$out"
same 'nobody crashed' 0 "$("$TILESCOPE" records export | grep -c '"outcome": "crash"')"
same 'every trial is there, once' "$(seq 13)" "$("$TILESCOPE" records export |
    grep -oE '"trial": [0-9]+' | grep -oE '[0-9]+$' | sort -n)"

# Killed whenever three kernels have been compiled: each start gets further all the same.
export TILESCOPE_RECORDS=$dir/killed.db
compiler killer <<'END'
n=$(grep -c '^void ts_entry' "$c")
for i in $(seq "$n"); do echo >> "compiled.$START"; done
[ "$(wc -l < "compiled.$START")" -gt 3 ] && { kill -9 "$(cat "pid.$START")"; kill -9 $$; }
END
before=0 starts=0 rc=137 stuck=0
while [ $rc = 137 ] && [ $starts -lt 60 ]; do
    starts=$((starts + 1))
    { CC=$dir/killer START=$starts bash -c 'echo $$ > "$0"; exec "$@"' "$dir/pid.$starts" \
        "$TILESCOPE" tune "$op" --budget 24 --seed 5 --strategy evo --baselines none --quiet \
        --resume > "$dir/out"; } 2> /dev/null
    rc=$?
    now=$(records)
    [ "$now" -lt 24 ] && [ "$now" -le "$before" ] && stuck=$((stuck + 1))
    before=$now
done
same 'it ends' 0 $rc
same "$starts starts, each with something new to show" 0 $stuck
same 'every trial is there, once' "$(seq 25)" "$("$TILESCOPE" records export |
    grep -oE '"trial": [0-9]+' | grep -oE '[0-9]+$' | sort -n)"
finish
