#!/usr/bin/env bash
# expert: its lines are steps that the other commands take, and a session that runs.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
conv='c2d n=1 i=8 h=14 w=14 o=32 k=3 p=1 relu=1'
t 0 '^# expert conv2d: ' expert "$conv"
"$TILESCOPE" expert "$conv" > "$dir/steps"
t 0 '^verified: true' run "$conv" --steps "$dir/steps" --meters none
t 0 '^loop parallel Conv H' expert "$conv" --threads 2
t 0 'GFLOP/s' expert "$conv" --search 2 --time 0.01
t 0 '' expert "$conv" -o "$dir/expert.yaml"
t 0 '^verified: true' run "$dir/expert.yaml" --meters none
t 0 '' expert "$conv" --search 1 --time 0.01 -o "$dir/fast.yaml"
t 0 '^machine: ' show "$dir/fast.yaml" --what yaml
printf 'set input_layout given\n' > "$dir/own.steps"
t 0 '' run "$conv" --steps "$dir/own.steps" --meters none -o "$dir/own.yaml"
t 0 '' expert "$dir/own.yaml" --search 1 --time 0.01 -o "$dir/own.yaml"
t 0 'input_layout given' show "$dir/own.yaml" --what yaml
same 'behind other steps it is another program: no numbers' 0 "$(grep -c 'latency_ms:' <<< "$out")"
printf 'loop split Conv O 4 8\n' > "$dir/own.steps"
t 0 '' run "$conv" --steps "$dir/own.steps" --meters none -o "$dir/own.yaml"
t 2 'error: ' expert "$dir/own.yaml" -o "$dir/not.yaml"
same 'nor does it take steps that do not fit' no "$([ -e "$dir/not.yaml" ] && echo yes || echo no)"
t 2 'E_IO' expert "$conv" --search 1 -o "$dir/none/x.yaml"
t 0 '^# expert plain: ' expert 'softmax m=4 n=8'
t 0 '^loop vectorize z ' expert 'x = input n=1 c=4 h=4 w=4; y = relu(x); z = exp(y)'
t 0 '^layout set r "N H W O"' expert "Inp = input n=1 i=8 h=14 w=14; \
    r = input n=1 o=32 h=14 w=14; Conv = c2d(Inp) o=32 k=1; y = add(Conv, r)"
t 2 'which session|operator' expert
t 2 'E_RANGE|between' expert "$conv" --search 0
finish
