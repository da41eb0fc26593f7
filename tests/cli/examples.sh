#!/usr/bin/env bash
# Every shipped session runs and computes what its operator says.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null

for file in sessions/examples/*.yaml; do
    t 0 '^verified: true' run "$file" --meters clock --time 0.05 --threads 2
    t 0 '^ *for ' show "$file"
done
[ $n -gt 0 ] || flunk 'there are examples'
finish
