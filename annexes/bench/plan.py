"""A machine is a rank of MPI, see train --ranks. In milliseconds of a step: compute
is forward and backward on the busiest machine; gradients are on the wire after
backward; update is that of the busiest owner of parameters; parameters are on the
wire after it; latency is the delay of messages that all wait for; messages is the time
that messages take from the computation, if it uses all cores. Without --micro, it
is chosen so that machines have equal work, if the windows of a step allow it. For
another network, give --network the rate of TCP and half of the round trip time.

Examples:
  $ plan --preset midi --machines 8
  $ plan --preset gpt2 --vocab 50257 --machines 16 --network 25GbE
  $ plan --batch 64 --network 200Mbit,1.5ms --threads 1"""
# All machines are equal. Each has its own link to a switch, and the switch has no limit. A machine sends a gradient to the owner of
# its parameter when it is there; owners update, and send the values to all others. Seconds and bytes.
import re

PAYS = 0.9  # of the time of the step of fewer machines
MPI_BYTES = 25e6  # of a rank: the library and its buffers, as measured with Open MPI
LONG_MESSAGE = 65536  # bytes, above which MPI asks the receiver first
LONG_TRIPS = 3  # question, answer, values
SHORT_EXCHANGES = 3  # of an exchange: the order of rank 0, losses, norms
MESSAGE_SECONDS, BYTE_SECONDS = 90e-6, 0.4e-9  # of a core, measured with Open MPI on TCP
CARRIED = 0.94  # of a link's rate; the rest is headers
# Bits a second, and a message's way with the time until a thread that sleeps between its looks sees it.
NETWORKS = {"1GbE": (1e9, 150e-6), "2.5GbE": (2.5e9, 150e-6), "10GbE": (1e10, 130e-6),
            "25GbE": (2.5e10, 120e-6), "100GbE": (1e11, 120e-6)}


def network_from(text):
    """The bytes a second that TCP carries, and the seconds of a message's way."""
    if text in NETWORKS:
        return CARRIED * NETWORKS[text][0] / 8, NETWORKS[text][1]
    given = re.fullmatch(r"(\d*\.?\d+(?:e-?\d+)?)Mbit,(\d*\.?\d+(?:e-?\d+)?)ms", text, re.ASCII)
    if not given or not 0 < float(given[1]) < math.inf or float(given[2]) == math.inf:
        fail(f"--network must be 1GbE, 2.5GbE, 10GbE, 25GbE, 100GbE, or as 200Mbit,1.5ms, got {in_quotes(text)}.")
    return float(given[1]) * 125e3, float(given[2]) * 1e-3


def end_of(messages, bandwidth):
    """When a link has carried the messages (time, bytes); 0 is the end of the computation, and before it all is hidden."""
    end = -math.inf
    for start, size in sorted(messages):
        end = max(end, start) + size / bandwidth
    return end


def step_time(work, bandwidth, latency):
    """Where the seconds of a step go, and the bytes of gradients that the owner of the most values receives."""
    time = {"compute": work["passes"] * work["pass"], "gradients": 0, "update": work["update"], "parameters": 0, "latency": 0,
            "messages": 0}
    received, machines, others = 0, work["machines"], work["machines"] - 1
    sums = bin(work["passes"]).count("1") if work["value_bytes"] == 4 else 1  # sent apart: blocks of the binary tree
    if machines == 1:
        return time, received
    costs = [0] * machines
    parts = []  # bytes, when the gradient is there, when the value is updated, owner
    for values, cost, early, owner in work["parts"]:
        costs[owner] += cost
        parts.append((values * work["value_bytes"], -early, costs[owner], owner))
    for machine in range(machines):
        sent = {name: ([], []) for name in ("gradients", "parameters")}  # in each direction of the link
        owned, messages = 0, 0
        for size, start, cost, owner in parts:
            owns = owner == machine
            copies = others if owns else 1
            sent["gradients"][owns].append((start, size * sums * copies))
            sent["parameters"][owns].append((work["update"] * (cost / max(costs) - 1), size * copies))
            owned += size if owns else 0
            messages += (sums + 1) * copies * (MESSAGE_SECONDS + BYTE_SECONDS * size)
        for name, ways in sent.items():
            time[name] = max(time[name], *(end_of(way, bandwidth) for way in ways))
        if work["busy_cores"] > 0:
            time["messages"] = max(time["messages"], messages / work["busy_cores"])
        received = max(received, owned * sums * others)
    trips = 2 * (LONG_TRIPS if max(size for size, *_ in parts) > LONG_MESSAGE else 1)  # gradients, parameters
    time["latency"] = latency * (SHORT_EXCHANGES + trips)
    return time, received


def memory_of(work, received):
    """The bytes of the machine that needs the most."""
    total, gradients = work["memory"]
    earlier = (work["passes"].bit_length() - 1) * gradients if work["micro"] > 1 else 0  # sums of earlier micro-batches
    return total + earlier + received + (MPI_BYTES if work["machines"] > 1 else 0)


def plan(given):
    """Prints a row for each number of machines."""
    bandwidth, latency = network_from(given["network"])
    if not given["json"]:
        plural = "" if given["threads"] == 1 else "s"
        print(f"model    {given['model']}; {given['parameters']:,} parameters; steps of {given['windows']} windows\n"
              f"network  {8e-6 * bandwidth:.0f} Mbit/s, {1e3 * latency:g} ms one way\n"
              f"machine  each is like this one, with {given['threads']} thread{plural}: compute and update are measured here, the rest "
              "is simulated\n", flush=True)
    counts = [1]
    while counts[-1] < given["machines"]:
        counts.append(min(2 * counts[-1], given["machines"]))
    code, lines = answer(["plan", *WORDS, *(f"--measure={count}" for count in counts)])
    if code != 0:
        os._exit(code)
    rows, totals = [], []
    for work in map(json.loads, lines):
        time, received = step_time(work, bandwidth, latency)
        totals.append(sum(time.values()))
        row = {"step_ms": 1e3 * totals[-1], **{f"{name}_ms": 1e3 * value for name, value in time.items()},
               "times_faster": totals[0] / totals[-1], "tokens_per_s": given["windows"] * given["block"] / totals[-1],
               "memory_mb": memory_of(work, received) / 1e6}
        shown = [f"{value:.{0 if value >= 100 else 2 if name == 'times_faster' else 1}f}" for name, value in row.items()]
        rows = rows or [["machines", "micro", *(name[:-3] if name.endswith("_ms") else name for name in row)]]
        rows.append([str(work["machines"]), str(work["micro"]), *shown])
        if given["json"]:
            print(compact({"event": "machines", "machines": work["machines"], "micro": work["micro"], **row}))
    best = next((i for i in range(len(totals) - 1) if totals[i + 1] >= PAYS * totals[i]), len(totals) - 1)
    if given["json"]:
        print(compact({"event": "done", "machines_that_pay": counts[best]}), flush=True)
    else:
        print(table(rows, range(12)) + f"Up to {counts[best]} machine" + (" pays" if counts[best] == 1 else "s pay")
              + ": each doubling shortens the step by a tenth at least.", flush=True)


if __name__ == "__main__":
    run_verb(plan)
