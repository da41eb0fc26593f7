#!/usr/bin/env bash
# The runner of the suites (tests/run.sh): one by its name, the time limit, and that nothing of a
# suite is left when it is killed or the runner is ended.
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

finish
