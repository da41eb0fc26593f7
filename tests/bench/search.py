"""Searches without expert schedules against the best schedule known, over SPEC Appendix 1.

    search.py TILESCOPE CASES.txt [--only C2D-*,GMM-1] [--budget 256] [--seed 1] [--known 64]
              [--out build/search]

For each case: `tune OPERATOR --experts 0 --budget BUDGET` finds one schedule, `tune OPERATOR
--budget KNOWN` another from the experts, and `bench` times both in turns, in one process.  A result
stays in OUT, so the same command goes on where it was stopped.

Prints for each case the least milliseconds of both, the speed of the first as a multiple of the
second (median of the paired rounds, with its interval), the seconds of its search and their parts,
and the geometric mean of each class.  1 is as fast; a case without a schedule counts as 0."""
import argparse, fnmatch, json, math, os, subprocess, sys, time


def cases(path, only):
    for line in open(path):
        if not line.startswith("#") and "|" in line:
            name, operator = (x.strip() for x in line.split("|")[:2])
            if any(fnmatch.fnmatch(name, o) for o in only.split(",")):
                yield name, operator


def tune(tilescope, operator, out, *options):
    """Returns what `tune --json` says, with its wall time; keeps it beside the session."""
    kept = out[:-5] + ".json"
    if not (os.path.exists(kept) and os.path.exists(out)):
        start = time.monotonic()
        r = subprocess.run([tilescope, "tune", operator, "--quiet", "--json", "-o", out, *options],
                           capture_output=True, text=True)
        if r.returncode != 0:
            print(f"{operator}: {r.stderr.strip()[-200:]}", file=sys.stderr)
            return None
        said = json.loads(r.stdout)
        said["wall_s"] = time.monotonic() - start
        with open(kept + ".part", "w") as f:
            json.dump(said, f)
        os.rename(kept + ".part", kept)
    return json.load(open(kept))


def compare(tilescope, known, found):
    r = subprocess.run([tilescope, "bench", known, found, "--json", "--time", "1"],
                       capture_output=True, text=True)
    try:
        return json.loads(r.stdout)["contenders"]
    except ValueError:
        print(r.stderr.strip()[-200:], file=sys.stderr)
        return None


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if min(ratios) > 0 else 0


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("tilescope")
    p.add_argument("cases")
    p.add_argument("--only", default="*")
    p.add_argument("--budget", default="256")
    p.add_argument("--seed", default="1")
    p.add_argument("--known", default="64")
    p.add_argument("--out", default="build/search")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    classes = {}
    print(f"{'case':<9} {'known ms':>9} {'found ms':>9} {'speed':>6} {'interval':>13} {'wall s':>7}"
          f" {'compile':>8} {'measure':>8} {'final':>6}")
    for name, operator in cases(a.cases, a.only):
        known = f"{a.out}/{name}-known-{a.known}.yaml"
        found = f"{a.out}/{name}-found-{a.budget}-{a.seed}.yaml"
        begun = tune(a.tilescope, operator, known, "--budget", a.known)
        said = tune(a.tilescope, operator, found, "--experts", "0", "--budget", a.budget,
                    "--seed", a.seed)
        timed = begun and said and compare(a.tilescope, known, found)
        least = [c["latency_ms"]["min"] for c in timed.values()] if timed else []
        ratio = list(timed.values())[1]["ratio"] if len(least) == 2 else None
        classes.setdefault(name.split("-")[0], []).append(1 / ratio["value"] if ratio else 0)
        if not ratio:
            print(f"{name:<9} not found or not timed", flush=True)
            continue
        t = said.get("seconds") or dict.fromkeys(("compile", "measure", "final"), 0)
        interval = f"{1 / ratio['high']:.2f} to {1 / ratio['low']:.2f}"
        print(f"{name:<9} {least[0]:9.4f} {least[1]:9.4f} {1 / ratio['value']:6.3f} {interval:>13}"
              f" {said['wall_s']:7.1f} {t['compile']:8.1f} {t['measure']:8.1f} {t['final']:6.1f}",
              flush=True)
    for name, ratios in classes.items():
        print(f"{name}: geometric mean of {len(ratios)}: {mean(ratios):.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
