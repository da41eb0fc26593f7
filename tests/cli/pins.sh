#!/usr/bin/env bash
# tune --loop-only --pin: what is pinned has to be a step of the session already, whichever it is.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db
cat > "$dir/s.yaml" << 'END'
tilescope: 1
operator: gmm m=16 k=8 n=32
steps:
  - layout set A "K M"
  - layout set B "N K"
  - loop parallel C M
END
tune=(tune "$dir/s.yaml" --loop-only --budget 2 --seed 7 --strategy random --experts 0
      --baselines none --quiet)

for step in 'layout set A "K M"' 'layout set B "N K"'; do
    t 0 '' "${tune[@]}" --pin "$step"
done
t 2 'layouts of the session are fixed, but "layout set C "N M"" is not one' "${tune[@]}" \
    --pin 'layout set A "K M"' --pin 'layout set C "N M"'

finish
