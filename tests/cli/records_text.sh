#!/usr/bin/env bash
# What records prints: every table as a whole, of two tasks that another machine measured.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db
there='"isa": "avx2", "machine": "Some CPU | avx2 | 8 cores"'
one='"run": "0123456789abcdef", "strategy": "ppo", "seed": 7, "spec": "gmm m=24 k=16 n=32"'
one+=", \"threads\": 1, $there"
two='"run": "9876543210abcdef", "strategy": "random", "seed": 8, "spec": "gmm m=8 k=8 n=8"'
two+=", \"threads\": 2, $there"
end='"compile_s": 0.04, "measure_s": 0.01, "features": null, "version": "0.1.0"'

# record RUN TRIAL STEPS LATENCY GFLOPS DATE: a line of a trial that was timed.
record() {
    echo "{\"format\": 1, \"kind\": \"record\", $1, \"trial\": $2, \"steps\": $3," \
        "\"outcome\": \"ok\", \"reason\": null, \"latency_ms\": {$4}, \"gflops\": $5," \
        "\"verified\": true, \"max_rel_err\": 1e-06, $end, \"date\": \"$6\"}"
}
{
    echo "{\"format\": 1, \"kind\": \"run\", $one, \"budget\": 40, \"options\": null," \
        '"started": "2026-11-20T10:00:00Z", "ended": null, "state": "finished"}'
    record "$one" 1 '["loop parallel C M"]' \
        '"median": 0.5, "min": 0.25, "spread": 0.02, "runs": 20' 1.5 2026-11-20T10:01:00Z
    echo "{\"format\": 1, \"kind\": \"record\", $one, \"trial\": 2, \"steps\": []," \
        '"outcome": "timeout", "reason": "no end after 2 s", "latency_ms": null,' \
        "\"gflops\": null, \"verified\": false, \"max_rel_err\": null, $end," \
        '"date": "2026-11-20T10:02:00Z"}'
    record "$one" 3 '["loop unroll C K"]' \
        '"median": 2, "min": 1.5, "spread": 0.1, "runs": 20' 0.5 2026-11-20T10:03:00Z
    echo "{\"format\": 1, \"kind\": \"run\", $two, \"budget\": 7, \"options\": null," \
        '"started": "2026-11-21T11:30:59Z", "ended": null, "state": "stopped"}'
    record "$two" 1 '[]' '"median": 0.001, "min": 0.0005, "spread": 0.02, "runs": 20' 2 \
        2026-11-21T11:31:00Z
} > "$dir/a.jsonl"
t 0 '^added 4 records in 2 new runs$' records import "$dir/a.jsonl"

# print NAME ARGS...: the table of standard input is what records prints.
print() {
    local name=$1
    shift
    same "$name" "$(cat)" "$("$TILESCOPE" records "$@" 2>&1)"
}
print 'list' list << 'END'
  1  gmm m=24 k=16 n=32
     1 thread, avx2: 3 records, 2 right, best 0.250 ms (1.5 GFLOP/s)
     another machine: Some CPU | avx2 | 8 cores
  2  gmm m=8 k=8 n=8
     2 threads, avx2: 1 record, 1 right, best 500.0 ns (2.0 GFLOP/s)
     another machine: Some CPU | avx2 | 8 cores
END
print 'list of a task' list 2 << 'END'
  2  gmm m=8 k=8 n=8
     2 threads, avx2: 1 record, 1 right, best 500.0 ns (2.0 GFLOP/s)
     another machine: Some CPU | avx2 | 8 cores
END
print 'list without any' list --isa sse << END
no such records ($dir/r.db)
END
print 'show' show 1 --machine all << 'END'
  1  gmm m=24 k=16 n=32
     1 thread, avx2: 3 records, 2 right, best 0.250 ms (1.5 GFLOP/s)
     another machine: Some CPU | avx2 | 8 cores
     2 ok, 1 timeout

  run       trial  strategy      best    median  spread  GFLOP/s  outcome
  01234567      1  ppo       0.250 ms  0.500 ms     2 %      1.5  ok
  01234567      2  ppo              -         -       -        -  timeout
  01234567      3  ppo       1.500 ms  2.000 ms    10 %      0.5  ok

trial 2: no end after 2 s
END
print 'show the last one' show 1 --machine all -n 1 << 'END'
  1  gmm m=24 k=16 n=32
     1 thread, avx2: 3 records, 2 right, best 0.250 ms (1.5 GFLOP/s)
     another machine: Some CPU | avx2 | 8 cores
     2 ok, 1 timeout

  run       trial  strategy      best    median  spread  GFLOP/s  outcome
  01234567      3  ppo       1.500 ms  2.000 ms    10 %      0.5  ok

the last 1 of 3; -n 0 shows all
END
print 'best' best 1 --machine all << 'END'
  1  gmm m=24 k=16 n=32
     1 thread, avx2: 3 records, 2 right, best 0.250 ms (1.5 GFLOP/s)
     another machine: Some CPU | avx2 | 8 cores

  run       trial  strategy      best    median  spread  GFLOP/s  outcome
  01234567      1  ppo       0.250 ms  0.500 ms     2 %      1.5  ok
  01234567      3  ppo       1.500 ms  2.000 ms    10 %      0.5  ok

the steps of the first:
  loop parallel C M
END
print 'best without steps' best 2 --machine all << 'END'
  2  gmm m=8 k=8 n=8
     2 threads, avx2: 1 record, 1 right, best 500.0 ns (2.0 GFLOP/s)
     another machine: Some CPU | avx2 | 8 cores

  run       trial  strategy      best    median  spread  GFLOP/s  outcome
  98765432      1  random    500.0 ns  1.000 us     2 %      2.0  ok

the steps of the first:
  (none: the bare operator)
END
print 'runs' runs << 'END'
  run       state     trials  budget      best  strategy  started           task
  98765432  stopped        1       7  500.0 ns  random    2026-11-21 11:30    2*
  01234567  finished       3      40  0.250 ms  ppo       2026-11-20 10:00    1*

* on another machine
END
print 'the last run' runs -n 1 << 'END'
  run       state    trials  budget      best  strategy  started           task
  98765432  stopped       1       7  500.0 ns  random    2026-11-21 11:30    2*

* on another machine

the last 1 of 2; -n 0 shows all
END
print 'check' check << END
$dir/r.db: 4 records, sound
END
print 'prune' prune --failed --machine all << 'END'
would delete 1 record and 0 runs; --yes does it
END
print 'prune a run' prune --run 98 --machine all --json << 'END'
{"format": 1, "records": 1, "runs": 1, "deleted": false}
END
print 'export to a file' export -o "$dir/b.jsonl" --json << 'END'
{"format": 1, "records": 4}
END
print 'import again' import "$dir/b.jsonl" --json << 'END'
{"format": 1, "runs": 0, "records": 0, "known": 4}
END

# What is asked for is not there, or not clear.
t 2 'the records have no run 77 .E_NAME' records runs --run 77
t 2 'fix: tilescope records runs$' records runs --run 77
t 2 'the records have no machine None .E_NAME' records list --machine None
t 2 'fix: tilescope records list$' records list --machine None
t 2 'records show takes no --yes' records show 1 --yes
t 2 'fix: tilescope records show 1$' records show
t 2 'fix: .tilescope records list. shows all tasks; .tilescope tune. adds records$' records show 3
t 2 'no measurement of task 1 that this machine measured' records show 1
t 2 'fix: tilescope records import FILE.jsonl$' records import
t 2 'fix: tilescope records merge OTHER.db$' records merge
t 2 'fix: --outcome "crash"$' records show 1 --outcome crush
t 2 'fix: any of ok, crash, timeout, "compile error", "wrong result"' \
    records show 1 --outcome something
cp "$dir/a.jsonl" "$dir/c.jsonl"
sed -i 's/9876543210abcdef/0123456789abcdee/' "$dir/c.jsonl"
t 0 '^added 1 record in 1 new run; 3 were there already$' records import "$dir/c.jsonl"
t 2 '2 runs have names that begin with 0123' records runs --run 0123
t 0 '^  01234567 +stopped' records runs --run 0123456789abcdee
finish
