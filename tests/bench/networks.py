"""Whole networks against onnxruntime and OpenVINO, in turns, pinned alike.

    networks.py TILESCOPE MODEL.onnx... [--threads 1,2] [--time SECONDS] [--tuned FOLDER]

Needs a Python with numpy, onnxruntime and openvino (PyPI); a peer that is missing is left out.
`tilescope bench MODEL --against PEER` times all contenders in short turns, for SECONDS each.
Inputs and expected outputs come from MODEL.npz beside the model, if there is one; `tilescope run`
checks them before.  --tuned: also FOLDER/NAME.yaml, which `tilescope tune MODEL.onnx -o` wrote.

Prints a table: least and median milliseconds of each contender, how many times faster than the
better peer ours is (by the medians of the turns, and by the least times), and of our run: share of
the FMA ceiling, conversions left, planned memory and its share of the least that any plan needs,
the sum of the kernels' roofline bounds in milliseconds, and our least time over it.  A peer can be
used by itself: networks.py --peer NAME MODEL.onnx THREADS answers `bench --against`."""
import argparse, json, math, os, shlex, subprocess, sys, tempfile, time


def feed_of(path, wanted):
    """Arrays for the inputs: those of the .npz beside the model, else random ones."""
    import numpy as np
    npz = path[:-5] + ".npz"
    known = np.load(npz) if os.path.exists(npz) else {}
    rng = np.random.default_rng(0)
    return {name: known[name] if name in known
            else np.ones(shape, np.int64) if integer else rng.standard_normal(shape).astype(np.float32)
            for name, shape, integer in wanted}


def serve(call):
    """Answers `tilescope bench --against`: see `tilescope help networks`."""
    for _ in range(5):
        call()
    print("ready", flush=True)
    for line in sys.stdin:
        until = time.perf_counter() + float(line.split()[1])
        times = []
        while not times or time.perf_counter() < until:
            start = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - start))
        print("times", *(f"{t:.6g}" for t in times), flush=True)


def onnxruntime(path, threads):
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    o.intra_op_num_threads, o.inter_op_num_threads = threads, 1
    s = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    feed = feed_of(path, [(i.name, [d if isinstance(d, int) else 1 for d in i.shape],
                           "int" in i.type) for i in s.get_inputs()])
    serve(lambda: s.run(None, feed))


def openvino(path, threads):
    import numpy as np, openvino as ov
    core = ov.Core()
    m = core.compile_model(core.read_model(path), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
    feed = feed_of(path, [(i.get_any_name(), [d.get_length() if d.is_static else 1
                                              for d in i.get_partial_shape()],
                           i.get_element_type() == ov.Type.i64) for i in m.inputs])
    request = m.create_infer_request()
    for name, value in feed.items():
        request.set_tensor(name, ov.Tensor(np.ascontiguousarray(value)))
    serve(request.infer)


PEERS = {"onnxruntime": onnxruntime, "openvino": openvino}


def pinned(threads, command):
    """Runs a command pinned to as many CPUs as threads."""
    cpus = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[:threads])
    return subprocess.run(["taskset", "-c", cpus] + command, capture_output=True, text=True)


def in_child(threads, command):
    """Runs a pinned command; returns its JSON, or None."""
    r = pinned(threads, command)
    try:
        return json.loads(r.stdout)
    except ValueError:
        print("failed:", " ".join(command), (r.stderr or r.stdout).strip()[-300:], file=sys.stderr)
        return None


def checked(tilescope, session, model, threads):
    """Returns what `run` says of a session; None, with a message, when it is not verified."""
    npz = model[:-5] + ".npz"
    given = ["--inputs", npz, "--expect", npz] if os.path.exists(npz) else []
    said = in_child(threads, [tilescope, "run", session, "--json", "--threads", str(threads)] + given)
    if said and not said["verified"]:
        print("not verified:", session, said["reason"], file=sys.stderr)
        return None
    return said


def measure(args, model, threads):
    """Returns {contender: what `bench` says of it}, and what `run` says of the last of ours."""
    sessions, said = {}, None
    tuned = args.tuned and os.path.join(args.tuned, os.path.basename(model)[:-5] + ".yaml")
    for name, session in [("instant", model), ("tuned", tuned)]:
        r = session and os.path.exists(session) and checked(args.tilescope, session, model, threads)
        if r:
            sessions[name], said = session, r
    if not sessions:
        return {}, None
    command = [args.tilescope, "bench", *sessions.values(), "--json", "--threads", str(threads),
               "--time", str(args.time)]
    for peer in PEERS:
        command += ["--against", f"{peer}: " + shlex.join([sys.executable, os.path.abspath(__file__),
                                                           "--peer", peer, model, str(threads)])]
    result = in_child(threads, command)
    timed = {}
    for name, c in zip([*sessions, *PEERS], (result or {"contenders": {}})["contenders"].values()):
        if c["latency_ms"]:
            timed[name] = c
        else:
            print(f"{name}: {c['outcome']}: {c['reason']}", file=sys.stderr)
    return timed, said


def over_best_peer(timed, name, of):
    """How many times faster the contender is than the better peer; of: its time in a result."""
    peers = [of(timed[p]) for p in PEERS if p in timed]
    return min(peers) / of(timed[name]) if peers and name in timed else math.nan


def by_turns(c):
    """The time of a contender over that of the first one, by the medians of the turns."""
    return c["ratio"]["value"] if c["ratio"] else 1


def least_of(c):
    return c["latency_ms"]["min"]


def row(model, threads, timed, said, ratios):
    text = f"{os.path.basename(model)[:-5]:<18} {threads:>2}"
    for name in ("instant", "tuned", *PEERS):
        text += (f" {least_of(timed[name]):9.3f} {timed[name]['latency_ms']['median']:9.3f}"
                 if name in timed else f" {'-':>9} {'-':>9}")
    for name in ("instant", "tuned"):
        for what, of in [("by turns", by_turns), ("by least", least_of)]:
            ratio = over_best_peer(timed, name, of)
            ratios.setdefault((name, what, threads), []).append(ratio)
            text += f" {ratio:6.2f}" if ratio == ratio else f" {'-':>6}"
    if said:
        memory = said["memory"]
        text += (f" {100 * said['peak_fraction']:5.0f}% {said['conversions']:5d}"
                 f" {memory['intermediate_bytes'] / 2**20:7.1f}"
                 f" {memory['intermediate_bytes'] / max(1, memory['least_bytes']):6.2f}")
        bound = said["bound_ms"]
        ours = min(least_of(timed[name]) for name in ("instant", "tuned") if name in timed)
        text += f" {bound:8.3f} {ours / bound:6.2f}" if bound else f" {'-':>8} {'-':>6}"
    return text


def main():
    if sys.argv[1:2] == ["--peer"]:
        return PEERS[sys.argv[2]](sys.argv[3], int(sys.argv[4]))
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilescope")
    p.add_argument("model", nargs="+")
    p.add_argument("--threads", default="1")
    p.add_argument("--time", type=float, default=10)
    p.add_argument("--tuned")
    args = p.parse_args()
    print(f"{'':<18} {'':>2} {'instant':>19} {'tuned':>19} {'onnxruntime':>19} {'OpenVINO':>19}"
          f" {'x best peer: turns, least':>27} {'':>6} {'conver':>5} {'memory':>7} {'of the':>6} {'sum of':>8} {'time':>6}")
    print(f"{'network':<18} {'j':>2}" + f" {'least':>9} {'median':>9}" * 4
          + f" {'inst.':>6} {'inst.':>6} {'tuned':>6} {'tuned':>6} {'peak':>6} {'sions':>5} {'MiB':>7} {'least':>6}"
          f" {'bounds':>8} {'x that':>6}")
    ratios = {}
    # The roofs are of the pinned CPUs, and must not replace those of the whole machine.
    cache = tempfile.TemporaryDirectory()
    os.environ["XDG_CACHE_HOME"] = cache.name
    for threads in (int(t) for t in args.threads.split(",")):
        pinned(threads, [args.tilescope, "machine"])     # measures the roofs of these CPUs once
        for model in args.model:
            timed, said = measure(args, model, threads)
            if timed:
                print(row(model, threads, timed, said, ratios), flush=True)
    for (name, what, threads), all_of in ratios.items():
        known = [r for r in all_of if r == r]
        if known:
            mean = math.exp(sum(map(math.log, known)) / len(known))
            print(f"{name}, {what}, {threads} thread{'s' * (threads > 1)}: geometric mean {mean:.3f},"
                  f" least {min(known):.3f} of {len(known)}")


if __name__ == "__main__":
    main()
