#!/usr/bin/env bash
# tune: the report, records, answers, pins, Ctrl-C, and kill -9.
# tests/run.sh: takes 70 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db
op='gmm m=16 k=8 n=32'
quick=(--seed 7 --strategy evo --baselines none)

number() { sed -n "s/^ *\"$1\": \([0-9.e+-]*\),*\$/\1/p" <<< "$out" | head -n 1; }
records() { "$TILESCOPE" records export 2> /dev/null | grep -c '"kind": "record"'; }

t 2 'no strategy "genetic"' tune "$op" --strategy genetic
t 2 'expected a whole number from 1' tune "$op" --budget 0
t 2 'tune takes no --save' tune "$op" --save
t 2 'a loop step cannot be pinned' tune "$op" --pin 'loop parallel C M'
t 2 'no tensor Z' tune "$op" --pin 'layout set Z "N M"'

t 2 'E_IO' tune "$op" --budget 24 -o "$dir/none/out.yaml"
same 'nothing was measured' 0 "$(records)"

t 0 '^trials: +24 of 24, budget spent \(evo, seed 7\)' tune "$op" --budget 24 "${quick[@]}" \
    -o "$dir/out.yaml"
grep -q '^verified: true' <<< "$out" && pass 'verified' || flunk 'verified' "$out"
# A busy machine can make the times in turns useless; then that is said.
grep -qE '^best: .*, [0-9.]+x as fast \([0-9.]+ to|^note: .*so the ratio is that of the search' \
    <<< "$out" && pass 'faster than the bare nest, timed in turns' || flunk 'faster' "$out"
grep -qE '^time: .*compiling [0-9]+ %, measuring' <<< "$out" && pass 'the time is split' \
    || flunk 'time split' "$out"
same 'a record for each, and one of the winner' 25 "$(records)"
want=$(sed -n '/^$/,$p' <<< "$out" | sed '1d; /: saved the session with these steps$/d')
got=$("$TILESCOPE" show "$dir/out.yaml" --what yaml \
      | sed -n "s/^- '\{0,1\}\(l[ao][^']*\)'\{0,1\}$/\1/p")
same 'the session has the steps that were printed' "$want" "$got"
t 0 '^verified: true' run "$dir/out.yaml" --meters clock
t 0 'max rel err|true' run "$dir/out.yaml" --check

t 0 'from the records of' tune "$op" --budget 24 "${quick[@]}"
t 0 '^best: .*, about [0-9.]+x as fast, .* GFLOP/s' tune "$op" --budget 24 "${quick[@]}"
same 'nothing new was measured' 25 "$(records)"
t 0 '"answered": true' tune "$op" --budget 20 --seed 7 --json
# The note on the saved file is for readers: not with --json, and not with --quiet.
for how in --json --quiet; do
    "$TILESCOPE" tune "$op" --budget 20 --seed 7 $how -o "$dir/said.yaml" > /dev/null 2> "$dir/said"
    same "no note with $how" '' "$(grep 'saved the session' "$dir/said")"
done

# A run that ended because it gained little answers a call that names no budget, and no other.
"$TILESCOPE" records export 2> /dev/null | sed 's/"finished"/"settled"/' > "$dir/settled.jsonl"
export TILESCOPE_RECORDS=$dir/settled.db
t 0 '' records import "$dir/settled.jsonl"
t 0 '24 of 24, little to gain' tune "$op" --seed 7 --strategy evo
grep -q 'the same command with --resume' <<< "$out" && pass 'says how it goes on' \
    || flunk 'how it goes on' "$out"
t 0 'settled' records runs
t 0 'budget spent .*; 24 of them were in the records' tune "$op" --seed 7 --strategy evo --resume
t 0 '"end": "budget spent"' tune "$op" --budget 24 "${quick[@]}" --json --quiet

# If it is resumed and stopped, it still answers.
export TILESCOPE_RECORDS=$dir/timed-out.db
t 0 'of 900, time is up' tune "$op" --budget 900 --time 0.5 "${quick[@]}"
"$TILESCOPE" records export | sed 's/"stopped"/"settled"/' > "$dir/resumed.jsonl"
last=$(grep -c '"kind": "record"' "$dir/resumed.jsonl")
final=$(grep '"trial": 1,' "$dir/resumed.jsonl" |
    sed "s/\"trial\": 1,/\"trial\": $((last + 1)),/; s/\"session\"/\"final\"/")
echo "$final" >> "$dir/resumed.jsonl"
export TILESCOPE_RECORDS=$dir/resumed.db
t 0 '' records import "$dir/resumed.jsonl"
t 0 "; $last of them were in the records" \
    tune "$op" --seed 7 --strategy evo --resume --time 0.5
t 0 'settled' records runs
if [[ $out == *stopped* ]]; then
    flunk 'a settled run stays settled' "$out"
else
    pass 'a settled run stays settled'
    t 0 'of 900, little to gain' tune "$op" --seed 7 --strategy evo
fi

# Without its last trial, a run cannot answer.
grep -v '"trial": 24,' "$dir/settled.jsonl" | sed 's/"settled"/"finished"/' > "$dir/cut.jsonl"
export TILESCOPE_RECORDS=$dir/cut.db
t 0 '' records import "$dir/cut.jsonl"
t 0 '24 of 24, budget spent' tune "$op" --budget 24 "${quick[@]}"
grep -q 'from the records' <<< "$out" && flunk 'a missing last trial is seen' "$out" \
    || pass 'a missing last trial is seen'
export TILESCOPE_RECORDS=$dir/r.db

# Every key of the JSON stands in schema.md.
t 0 '"curve"' tune "$op" --budget 9 --seed 8 --strategy ppo --json --fresh
missing=$(grep -oE '^ *"[a-z_0-9]+":' <<< "$out" | tr -d ' ":' | sort -u | while read -r key; do
    grep -qF "\`$key\`" sessions/schema.md || echo "$key"
done)
same 'all keys are documented' '' "$missing"

# Agents that have learnt tell how far they are.
export TILESCOPE_RECORDS=$dir/agents.db
t 0 '^agents: +[0-9]+ episodes?, entropy [0-9.]+ of loops$' tune 'gmm m=4 k=2 n=2' --budget 40 \
    --seed 5 --strategy ppo --baselines none --quiet
export TILESCOPE_RECORDS=$dir/r.db

# Refused before anything is measured, and without a run in the records.
runs() { "$TILESCOPE" records runs --json | grep -c '"kind": "run"'; }
cp "$dir/r.db" "$dir/refused.db"
export TILESCOPE_RECORDS=$dir/refused.db
before=$(runs)
t 2 'cannot write /nonexist/x.yaml' tune "$op" --budget 5000 -o /nonexist/x.yaml
t 2 'leave out one of the two' tune "$op" --fresh --resume
t 2 'the agents of ppo; strategy evo has none' tune "$op" --strategy evo --weights "$dir/none"
t 2 'error: ' tune 'softmax m=8 n=8' --budget 4
t 2 'no tensor Z' tune "$op" --pin 'layout set Z "N M"'
same 'none of it is a run' "$before" "$(runs)"
t 0 'note: 99 threads on' tune "$op" --budget 1 --threads 99 --experts 0 --baselines none

# Pins that the session does not have are in every candidate.
t 0 '' tune "$op" --budget 9 "${quick[@]}" --pin 'layout set A "K M"' --experts 0
run=$(sed -n 's/^run: *\([0-9a-f]*\).*/\1/p' <<< "$out")
same 'in all but the session' 8 "$("$TILESCOPE" records export --run "$run" |
    grep '"kind": "record"' | grep -v '"strategy": "final"' | grep -cF 'set A \"K M\"')"
t 2 'layouts of the session are fixed, but "layout set A "K M"" is not one' \
    tune "$op" --loop-only --pin 'layout set A "K M"'

# What takes everything in order has a time limit, and is not done with the space then.
t 0 'time is up \(exhaustive' tune 'c2d n=1 i=8 h=14 w=14 o=96 k=3 p=1' --strategy exhaustive \
    --experts 0 --time 0.5 --baselines none
t 0 'time is up|budget spent' tune 'c2d n=1 i=8 h=14 w=14 o=96 k=3 p=1' --strategy exhaustive \
    --experts 0 --time 0.5 --baselines none --resume

# A convolution whose weights are an input of the graph.
t 0 '^verified: true' tune 'x = input n=1 i=4 h=6 w=6; W = input d0=4 d1=4 d2=3 d3=3
y = c2d(x, W) o=4 k=3 p=1' --budget 12 "${quick[@]}"

# As it was: one time, not one of each of two sittings.
t 0 'unchanged' tune "$op" --budget 1 --experts 0 --baselines none --seed 3
same 'start and best are one time' "$(sed -n 's/^start: *//p' <<< "$out")" \
    "$(sed -n 's/^best: *\([^,]*\),.*/\1/p' <<< "$out")"
t 0 'from the records of' tune "$op" --budget 1 --experts 0 --baselines none --seed 3
grep -q 'unchanged' <<< "$out" && pass 'also when it is answered' || flunk 'answered' "$out"

# The compiler is part of the question.
if command -v clang > /dev/null; then
    CC=clang t 0 'unchanged' tune "$op" --budget 1 --experts 0 --baselines none --seed 3
    grep -q 'from the records' <<< "$out" && flunk "gcc's is no answer" "$out" \
        || pass "gcc's is no answer"
fi

# Experts of another instruction set have its registers.
t 0 '^verified: true' tune "$op" --budget 9 --isa sse "${quick[@]}"

# Small operators are measured without threads as well.
t 0 '' tune "$op" --budget 24 --threads 2 --fresh --quiet "${quick[@]}"
first=$("$TILESCOPE" records export "$op" --threads 2 | grep '"strategy": "expert"')
grep -q 'loop parallel' <<< "$first" && pass 'experts with threads' || flunk 'threads' "$first"
grep -vq 'loop parallel' <<< "$first" && pass 'and without' || flunk 'without' "$first"

# What was pruned is no answer, and nothing overwrites a session with nothing.
t 0 'from the records' tune "$op" --budget 12 "${quick[@]}" -o "$dir/pr.yaml"
t 0 'deleted' records prune "$op" --threads 1 --keep 3 --yes
t 0 '^verified: true' tune "$op" --budget 12 "${quick[@]}" -o "$dir/pr.yaml"
grep -q 'from the records' <<< "$out" && flunk 'measured again' "$out" || pass 'measured again'
export TILESCOPE_RECORDS=$dir/r.db

# kill -9 at any moment, then --resume: the same budget, and every record is used.
"$TILESCOPE" tune "$op" --budget 56 "${quick[@]}" --quiet > /dev/null 2>&1 &
pid=$!
for ((i = 0; i < 600; i++)); do
    [ "$(records)" -ge 51 ] && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.02
done
kill -9 $pid 2> /dev/null && killed=yes || killed=no
wait $pid 2> /dev/null
had=$(($(records) - 35))
if [ $killed = yes ] && [ $had -lt 56 ]; then
    t 0 '"end": "budget spent"' tune "$op" --budget 56 "${quick[@]}" --resume --json --quiet
    same 'it had what was recorded' $had "$(number resumed)"
    same 'and took all of it' $had "$(number replayed)"
    same 'the budget is the same' 56 "$(number trials)"
    same 'each candidate is there once' $((35 + 57)) "$(records)"
else
    pass '# SKIP it was done before it could be killed'
fi

# kill -9 at random moments, again and again: nothing is lost, nothing is measured twice.
export TILESCOPE_RECORDS=$dir/killed.db
RANDOM=${TS_SEED:-$$}
printf '# TS_SEED=%s\n' "${TS_SEED:-$$}"
again=("$op" --budget 32 --seed 5 --strategy ppo --baselines none --quiet)
before=0 lost=0 kills=0
for ((i = 0; i < ${TEST_LONG:+3} + 3; i++)); do
    "$TILESCOPE" tune "${again[@]}" --resume > /dev/null 2>&1 &
    pid=$!
    sleep "0.$((RANDOM % 9))"
    kill -9 $pid 2> /dev/null && kills=$((kills + 1))
    wait $pid 2> /dev/null
    now=$(records)
    [ "$now" -lt "$before" ] && lost=$((lost + before - now))
    before=$now
done
same "no record was lost by $kills kills" 0 $lost
t 0 '"trials": 32' tune "${again[@]}" --resume --json
t 0 '"kind": "record"' records export
same 'every trial is there, once' "$(seq 33)" \
    "$(grep -oE '"trial": [0-9]+' <<< "$out" | grep -oE '[0-9]+$' | sort -n)"
same 'no schedule was measured twice' "" \
    "$(grep -v '"trial": 33,' <<< "$out" | grep -oE '"steps": \[[^]]*\]' | sort | uniq -d)"

# A run that is stopped by its time has its trials in the records, and nothing else.
export TILESCOPE_RECORDS=$dir/timed.db
for ((i = 0; i < 2; i++)); do
    t 0 '"end": "time is up"' tune "$op" --budget 4000 --seed 5 --strategy random --resume \
        --time 0.3 --baselines none --json --quiet
    same 'a record for each trial' "$(number trials)" "$(records)"
done
export TILESCOPE_RECORDS=$dir/killed.db

# Ctrl-C is a clean end.
out=$(timeout --foreground --preserve-status -s INT 2 "$TILESCOPE" tune "$op" --budget 5000 \
      --strategy random --baselines none 2> "$dir/err")
same 'Ctrl-C: exit 130' 130 $?
grep -qE '^trials: .*, stopped' <<< "$out" && grep -q '^best:' <<< "$out" \
    && pass 'with the best so far' || flunk 'the best so far' "$out"
grep -q -- '--resume continues from [0-9]* of 5000' "$dir/err" && pass 'and how to go on' \
    || flunk 'how to go on' "$(cat "$dir/err")"
t 2 'has a budget of 5000, not 40' tune "$op" --budget 40 --strategy random --baselines none \
    --resume

# What it started from, and whether there was anything left for layouts.
t 0 '^seeds: +the session and [0-9]+ expert schedule' tune "$op" --budget 9 "${quick[@]}" --fresh
grep -qE 'too small to search layouts, which takes about [0-9]+ trials' <<< "$out" \
    && pass 'too small for layouts' || flunk 'too small for layouts' "$out"
t 0 '^seeds: +the session alone, by --experts 0' tune "$op" --budget 3 "${quick[@]}" --loop-only \
    --experts 0
grep -q 'too small' <<< "$out" && flunk 'fixed layouts need no budget' "$out" \
    || pass 'fixed layouts need no budget'
t 0 '' expert "$op" -o "$dir/expert.yaml"
t 0 '^followed: layout tried from trial [0-9]+ on, (measured as|never|proposed)' \
    tune "$op" --budget 24 "${quick[@]}" --fresh --experts 0 --follow "$dir/expert.yaml"
t 2 'is a session of gmm m=16 k=8 n=32, not of the operator' tune 'gmm m=8 k=8 n=32' --budget 1 \
    "${quick[@]}" --follow "$dir/expert.yaml"
t 0 '^seeds: +the session alone' tune --budget 2 "${quick[@]}" \
    'x = input n=1 i=4 h=6 w=6; c = c2d(x) o=8 k=3 p=1 relu=1; y = maxpool(c) k=2'
t 2 'softmax has no loop space: softmax is neither' tune 'softmax m=4 n=8'

# With an accuracy the experts may choose an algorithm, which has no loop space around it.
wino='c2d n=1 i=64 h=28 w=28 o=64 k=3 p=1'
t 0 '^algorithm Conv winograd m=4$' tune "$wino" --accuracy 1e-5 --budget 8 --time 60 --quiet \
    --baselines none
t 0 '^loop ' tune 'c2d n=1 i=16 h=14 w=14 o=32 k=3 p=1' --budget 8 --time 60 --quiet \
    --baselines none
grep -q "^algorithm" <<< "$out" && flunk "no algorithm unasked" "$out" \
    || pass "no algorithm unasked"

# Pinned layouts are those of the result.
printf 'layout set B "N/16 K 16n"\n' > "$dir/s.steps"
t 0 'layout set B "N/16 K 16n"' tune "$op" --steps "$dir/s.steps" --budget 6 "${quick[@]}" \
    --loop-only
grep -q '^layout set [AC]' <<< "$out" && flunk 'only loops' "$out" || pass 'only loops'
t 0 'layout set A "K M"' tune "$op" --budget 6 "${quick[@]}" --pin 'layout set A "K M"'
# Somebody edits the file while it is tuned, under whatever name: the edit and the result both stay.
printf '#!/bin/sh\necho "# edited" >> "%s/own.yaml"\nexec gcc "$@"\n' "$dir" > "$dir/slow-cc"
chmod +x "$dir/slow-cc"
cp "$dir/out.yaml" "$dir/own.yaml"
t 2 'another program changed .*own.yaml in the meantime, .* in .*/own-2.yaml' \
    tune "$dir/own.yaml" --fresh --budget 8 "${quick[@]}" --compiler "$dir/slow-cc" \
    -o "$dir/./own.yaml"
same 'the edit is there' '# edited' "$(tail -n 1 "$dir/own.yaml")"
t 0 '^operator: gmm' show "$dir/own-2.yaml" --what yaml

finish
