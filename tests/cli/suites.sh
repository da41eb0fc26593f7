#!/usr/bin/env bash
# The runner of the suites (tests/run.sh): one by its name, the time limit, that nothing of a suite
# is left when it is killed or the runner is ended, and that folders left by a suite are told.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/lib.sh

mkdir -p "$dir/build/tests"
# A suite with a child that goes on when its terminal is gone.
cat > "$dir/build/tests/test_base" << 'SUITE'
#!/usr/bin/env bash
echo 1..1
bash -c 'trap "" HUP INT; echo $$ >> '"$(dirname "$0")"'/pids; exec sleep 30' &
echo $$ >> "$(dirname "$0")"/pids
while :; do sleep 0.1; done
SUITE
chmod +x "$dir/build/tests/test_base"
pids=$dir/build/tests/pids
left() { xargs -r ps -o pid= -p < "$pids" 2> /dev/null | wc -l; }
none_left() {
    for _ in $(seq 100); do
        [ "$(left)" = 0 ] && break
        sleep 0.1
    done
    same "$1" 0 "$(left)"
}

out=$(TEST_TIMEOUT=1 tests/run.sh "$dir/build" =test_base)
same 'a suite that does not end has failed' 'test_base 0 passed, 1 FAILED' \
     "$(head -n 1 <<< "$out" | awk '{ print $1, $2, $3, $4, $5 }')"
same 'and both of its processes began' 2 "$(wc -l < "$pids")"
none_left 'and both ended at the limit'

rm -f "$pids"
tests/run.sh "$dir/build" =test_base > /dev/null 2>&1 &
for _ in $(seq 100); do
    [ -s "$pids" ] && [ "$(wc -l < "$pids")" = 2 ] && break
    sleep 0.1
done
kill $!
none_left 'both end when the runner is ended'

# A suite that leaves a folder has failed; what a killed tilescope leaves is not counted.
for left in tilescope-run-X t-left; do
    cat > "$dir/build/tests/test_base" << SUITE
#!/bin/sh
mkdir "\$TMPDIR/$left"
printf '1..1\\nok 1\\n'
SUITE
    out=$(TEST_TIMES=1 tests/run.sh "$dir/build" =test_base)
    case $left in tilescope*) failed_so=0 ;; *) failed_so=1 ;; esac
    same "with $left: $failed_so failed" "1 passed, $failed_so failed, 0 skipped" \
        "$(tail -n 1 <<< "$out")"
    same "with $left: told" $failed_so \
        "$(grep -v '^-- ' <<< "$out" | grep -c "not ok 0 - it leaves .*/$left\$")"
    same 'the slowest suites are listed' 1 \
        "$(grep -cE '^test_base +[0-9.]+ s +[0-9.]+ s$' <<< "$out")"
done

finish
