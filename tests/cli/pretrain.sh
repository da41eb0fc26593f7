#!/usr/bin/env bash
# pretrain: weights, the same ones again from the records, errors; tune --weights.
# tests/run.sh: takes 14 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db
printf 'pretrain: 1\nbudget: 9\nworkloads:\n- gmm m=8 k=8 n=16\n' > "$dir/p.yaml"

printf 'pretrain: 1\nbudget: 9\nworkloads:\n- gemm m=8 k=8 n=16\n' > "$dir/bad.yaml"
t 2 'bad.yaml:4:3: error: unknown operator "gemm"' pretrain "$dir/bad.yaml"
t 2 'one file of workloads' pretrain "$dir/p.yaml" "$dir/p.yaml"
t 2 'pretrain takes no --strategy' pretrain "$dir/p.yaml" --strategy evo

t 2 'E_IO' pretrain "$dir/p.yaml" -o "$dir/none/a.weights"
[ -e "$TILESCOPE_RECORDS" ] && flunk 'nothing was measured' || pass 'nothing was measured'

t 0 '^  1/1  gmm m=8 k=8 n=16 ' pretrain "$dir/p.yaml" -o "$dir/a.weights"
same 'they name what they were trained on' \
    'trained p.yaml, 1 workloads, 1 passes of 9, seed 1, content' \
    "$(sed -n '3s/ [0-9a-f]*$//p' "$dir/a.weights")"
t 0 '"known": 9' pretrain "$dir/p.yaml" -o "$dir/b.weights" --json
missing=$(grep -oE '^ *"[a-z_0-9]+":' <<< "$out" | tr -d ' ":' | sort -u | while read -r key; do
    grep -qF "\`$key\`" sessions/schema.md || echo "$key"
done)
same 'all keys are documented' '' "$missing"
cmp -s "$dir/a.weights" "$dir/b.weights" && pass 'the same bytes' || flunk 'the same bytes'
sed 's/budget: 9/budget: 40/' "$dir/p.yaml" > "$dir/long.yaml"       # no layouts are chosen in it
t 0 '  entropy none, [0-9.]+  ' pretrain "$dir/long.yaml" -o "$dir/long.weights"
t 0 'nothing was left to do' pretrain "$dir/p.yaml" -o "$dir/b.weights" --resume
t 2 'belong to another training' pretrain "$dir/p.yaml" -o "$dir/b.weights" --resume --seed 2

t 0 '^trials: +9 of 9' tune 'gmm m=8 k=8 n=16' --budget 9 --weights "$dir/a.weights" \
    --baselines none --quiet
t 0 '^trials: +9 of 9' tune 'gmm m=8 k=8 n=16' --budget 9 --weights <(cat "$dir/a.weights") \
    --baselines none --quiet --fresh
t 2 'not weights of agents' tune 'gmm m=8 k=8 n=16' --weights "$dir/p.yaml"
finish
