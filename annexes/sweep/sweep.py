"""  seeds = [1, 2, 3]
  [base]
  preset = "nano"
  steps = 1000
  [try.adamw]
  lr = [1e-3, 3e-3]           # a list: one setting for each value
  [try.muon]
  optimizer = "muon"
  lr = 1e-2

Finished runs are not repeated, and stopped runs are resumed. A run whose flags differ
from those in table.json is an error. The errors of the losses are standard errors of
the mean over seeds. Each setting is compared with the first by the differences of
runs with the same seed: p is that of Student's t-test of pairs, and the last column
the number of seeds with which a difference of 0.005 would have p < 0.05 four times in
five. Losses of settings with different tokenizers cannot be compared.

Examples:
  $ sweep table.toml --out out/sweep"""
import collections
import itertools
import re

FILE, OUT, *THREADS = WORDS
MOST_RUNS, MOST_COUNT = 10000, 10**15
SMALL = 0.005  # a difference of losses


class Run(collections.namedtuple("Run", "setting seed flags")):  # flags: without --seed and --out
    def name(self):
        """A name of a folder, from letters, digits and - . ="""
        return re.sub(rb"[^A-Za-z0-9.=-]", b"-", f"{self.setting}-s{self.seed}".encode()).decode()

    def file(self, *names):
        return os.path.join(OUT, self.name(), *names)


def alternatives(items):
    """The key of each flag, and the lists of values that settings give it: one list for a flag that takes several values."""
    for item in items:
        if not item["values"]:
            fail(f"{item['at']}: {item['key']} must have a value, got none.")
    return [(item["key"], [item["values"]] if item["is_list"] else [[value] for value in item["values"]]) for item in items]


def flag(key, values):
    return [f"--{key}={values[0]}"] if len(values) == 1 else ["--" + key, *values]  # switches need the =


def read_table(items):
    """The seeds, the flags of all runs, and the settings: names and alternatives()."""
    seeds, base, settings = ["1337"], [], []
    for item in items:
        at, key, section = item["at"], item["key"], item.get("section")
        if key == "seeds" and section is None:
            seeds = item["values"] or fail(f"{at}: seeds must be one at least, got none.")
            for text in seeds:
                if not re.fullmatch("[0-9]+", text) or int(text) > MOST_COUNT:
                    fail(f"{at}: seeds must be whole numbers from 0 to {MOST_COUNT}, got {in_quotes(text)}.")
        elif key == "base" and section is not None:
            alternatives(section)
            base = section
        elif key == "try" and section is not None:
            for one in section:
                if "section" not in one:
                    fail(f"{one['at']}: try.{one['key']} must be a section.")
                settings.append((one["key"], alternatives(one["section"])))
        else:
            fail(f"{at}: must have seeds, [base] and [try.NAME] only, got {in_quotes(key)}.")
    return [int(text) for text in seeds], base, settings or fail(f"{FILE}: must have a section [try.NAME] at least, got none.")


def runs_of(seeds, base, settings):
    """The runs, with the seeds of a setting one after another."""
    count = sum(len(seeds) * math.prod(len(lists) for _, lists in flags) for _, flags in settings)
    if count > MOST_RUNS:
        fail(f"{FILE}: must have at most {MOST_RUNS} runs, got {count:g}, the product of the lengths of its lists and the number of "
             "seeds.")
    runs = {}
    for name, flags in settings:
        own = {key for key, _ in flags}  # `train` takes the last of several values, but all lists
        usual = [word for one in base if not (one["is_list"] and one["key"] in own) for word in flag(one["key"], one["values"])]
        for chosen in itertools.product(*(lists for _, lists in flags)):
            setting, words = name, list(usual)
            for (key, lists), values in zip(flags, chosen):
                setting += f" {key}={values[0]}" if len(lists) > 1 else ""
                words += flag(key, values)
            for run in (Run(setting, seed, words) for seed in seeds):
                other = runs.setdefault(run.name(), run)
                if other is not run:
                    fail(f"{FILE}: must have each setting and seed once, got {in_quotes(setting)}, seed {run.seed} again." if
                         other.setting == setting else f"{FILE}: must have settings with names of their own in letters, digits, "
                         f"- . and =, got {in_quotes(setting)} after {in_quotes(other.setting)}.")
    return list(runs.values())


def fields(line, **types):
    """The values of these fields of an object in JSON; None unless it has all, of these types."""
    try:
        entry = json.loads(line)
        values = [float(entry[key]) if kind is float and type(entry[key]) is int else entry[key] for key, kind in types.items()]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    is_right = [type(value) is kind and (kind is str or math.isfinite(value)) for value, kind in zip(values, types.values())]
    return values if all(is_right) else None


def whole_lines(path):
    """Those of a file, if there is one; the last may be incomplete."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        return file.read().split(b"\n")[:-1]


def read_results(lines, path):
    """(loss, seconds) by setting and seed, from results.jsonl."""
    results = {}
    for number, line in enumerate(lines, 1):
        setting, seed, loss, seconds = fields(line, setting=str, seed=int, val_loss=float, seconds=float) or fail(
            f"{path}:{number} must be JSON with setting, seed, val_loss and seconds, got {in_quotes(line.decode(errors='replace'))}.")
        results[setting, seed] = loss, seconds
    return results


def write(path, text):
    """Puts the whole text in place of the file at once."""
    try:
        with open(path + ".new", "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
    except OSError as error:
        fail(f"cannot write {path}: {error.strerror}.", 1, "file")


def remember_flags(runs, results, path):
    """table.json: the flags with which each run of the folder began, which stay, so that all results belong to one table."""
    try:
        begun = {}
        if os.path.exists(path):
            with open(path, "rb") as file:
                begun = dict(json.load(file))
    except (ValueError, TypeError, RecursionError) as error:
        fail(f"{path} must be an object in JSON, got: {error}.")
    for run in runs:
        old = begun.get(run.name(), run.flags)
        if old != run.flags and ((run.setting, run.seed) in results or os.path.exists(run.file())):
            fail(f"the flags of {run.setting}, seed {run.seed}, must stay {compact(old)}, with which it began, got "
                 f"{compact(run.flags)}. Hint: use another --out, or another name for the setting.")
        begun[run.name()] = run.flags
    write(path, json.dumps(begun, indent=1, ensure_ascii=False).encode() + b"\n")


def train(run):
    """Trains a run, or resumes it: its validation loss and its seconds."""
    begun = any(os.path.exists(run.file(name)) for name in ("last", "members.json", "teachers.json"))
    words = ["--resume"] if begun else [*run.flags, "--overwrite", "--seed", str(run.seed)]
    code, lines = answer(["train", *words, *THREADS, "--out", run.file(), "--json", "--quiet"])
    last = lines[-1] if lines else b""
    loss = fields(last, val_loss=float)
    if code != 0 or loss is None:
        fail(f"`gradus train` must end with a validation loss, got exit code {code} for {run.setting}, seed {run.seed}. Finished runs "
             "are kept.", 1)
    log = [fields(line, elapsed_s=float) for line in whole_lines(run.file("metrics.jsonl"))]  # with the time before a stop
    return loss[0], max((one[0] for one in [fields(last, seconds=float), *log] if one), default=0)


def duration(seconds):
    minutes, rest = divmod(int(seconds + 0.5), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes > 0 else f"{rest} s"


def mean_and_error(values):
    """The mean and its standard error, 0 for one value."""
    n, mean = len(values), sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean)**2 for value in values) / max(n - 1, 1) / n)


def mean_text(values, digits):
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f}" + (f" +- {error:.{digits}f}" if len(values) > 1 else "")


def two_sided_p(t, degrees):
    """The probability of a value of Student's t at least as far from 0: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle, is_odd = math.atan(abs(t) / math.sqrt(degrees)), degrees % 2
    total, term = 0, math.cos(angle) if is_odd else 1
    for i in range(is_odd, degrees - 1, 2):
        total += term
        term *= math.cos(angle)**2 * (i + 1) / (i + 2)
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if is_odd else math.sin(angle) * total
    return min(max(1 - inside, 0), 1)


def comparison(first, losses):
    """What compares a setting with the first: the difference of losses, its p, and the seeds that SMALL needs."""
    differences = [loss - first[seed] for seed, loss in losses.items() if seed in first]
    if len(differences) < 2 or losses is first:
        return ["", "", ""]
    (mean, error), n = mean_and_error(differences), len(differences)
    p = two_sided_p(mean / error, n - 1) if error > 0 else float(mean == 0)
    needed = ((1.96 + 0.84) * error * math.sqrt(n) / SMALL)**2  # quantiles of the normal distribution: p < 0.05, four of five
    seeds = 2 + math.ceil(min(needed, 1e9))  # 2 more for the estimated deviation
    return [f"{'' if mean < 0 else '+'}{mean:.4f} +- {error:.4f}", "<0.001" if p < 0.001 else f"{p:.3f}", str(seeds)]


def print_table(runs, results):
    losses, seconds = ({run.setting: {} for run in runs} for _ in range(2))  # by setting and seed
    for run in sorted(runs, key=lambda run: run.seed):
        losses[run.setting][run.seed], seconds[run.setting][run.seed] = results[run.setting, run.seed]
    rows = [["setting", "seeds", "val loss", "seconds", "to the first", "p", "seeds for 0.005"]]
    for name, own in losses.items():
        rows.append([name, str(len(own)), mean_text(list(own.values()), 4), mean_text(list(seconds[name].values()), 1),
                     *comparison(losses[runs[0].setting], own)])
    print("\n" + table(rows, {1, 5, 6}), end="", flush=True)


def sweep(items):
    runs = runs_of(*read_table(items))
    os.makedirs(OUT, exist_ok=True)
    path = os.path.join(OUT, "results.jsonl")
    lines = whole_lines(path)
    results = read_results(lines, path)
    remember_flags(runs, results, os.path.join(OUT, "table.json"))
    for run in (run for run in runs if (run.setting, run.seed) not in results):
        loss, seconds = results[run.setting, run.seed] = train(run)
        entry = {"setting": run.setting, "seed": run.seed, "val_loss": loss, "seconds": seconds, "flags": run.flags}
        lines.append(compact(entry).encode())
        write(path, b"".join(line + b"\n" for line in lines))
        print(f"{run.setting}, seed {run.seed}: {loss:.4f} in {duration(seconds)}", flush=True)
    print_table(runs, results)


if __name__ == "__main__":
    run_verb(sweep)
