"""Correct versions of lab 13's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use what the
# notebook gives. All else is imported or defined inside.

from collections import Counter

import numpy as np
import torch
from torch import nn

from course_utils.data.own import COLUMNS, LIBRARIES
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- validate_rows


@variant("validate_rows")
def faults_by_a_generator(rows, task):
    """A generator inside; each column is asked by itself, pairs of columns in a dict of tests."""

    def broken_pair(row):
        if task == "entities":
            bad = [
                span
                for span in row["spans"]
                if span[0] < 0 or span[1] > len(row["text"]) or span[0] >= span[1]
            ]
            return "spans" if bad else None
        if task == "questions":
            fits = row["start"] >= 0 and row["context"].startswith(row["answer"], row["start"])
            return None if fits else "start"
        return None

    def found():
        for place, row in enumerate(rows):
            clean = True
            for column in COLUMNS[task]:
                value = row.get(column, None)
                if (
                    type(value) is not COLUMNS[task][column]
                    or (type(value) is str and value.isspace())
                    or value == ""
                ):
                    clean = False
                    yield place + 1, column
            if clean and broken_pair(row):
                yield place + 1, broken_pair(row)

    return list(found())


@variant("validate_rows")
def faults_by_exceptions(rows, task):
    """Tries to use each value, and takes an exception for a fault."""
    faults = []
    for place in range(len(rows)):
        row, before = rows[place], len(faults)
        for column, kind in COLUMNS[task].items():
            try:
                value = row[column]
                assert isinstance(value, kind)
                assert kind is not str or len(value.split()) > 0
            except (KeyError, AssertionError):
                faults.append((place + 1, column))
        if len(faults) > before:
            continue
        try:
            if task == "entities":
                for start, end, _label in row["spans"]:
                    assert start >= 0
                    assert start < end
                    assert end <= len(row["text"])
            elif task == "questions":
                assert row["start"] in range(len(row["context"]))
                assert row["context"][row["start"] :][: len(row["answer"])] == row["answer"]
        except AssertionError:
            faults.append((place + 1, "spans" if task == "entities" else "start"))
    return faults


@variant("validate_rows")
def faults_as_sorted_set(rows, task):
    """Collects places in a set, column by column, and sorts at the end; lists of two come back."""
    columns = list(COLUMNS[task])
    places = set()
    for number, row in enumerate(rows):
        for index, column in enumerate(columns):
            value = row.get(column, None)
            good = isinstance(value, COLUMNS[task][column])
            if good and isinstance(value, str):
                good = bool(value.strip())
            if not good:
                places.add((number, index))
    rows_with_faults = {number for number, _ in places}
    for number, row in enumerate(rows):
        if number in rows_with_faults:
            continue
        if task == "entities" and not all(0 <= s < e < len(row["text"]) + 1 for s, e, _ in row["spans"]):
            places.add((number, columns.index("spans")))
        if task == "questions":
            end = row["start"] + len(row["answer"])
            if (
                row["start"] < 0
                or end > len(row["context"])
                or row["context"][row["start"] : end] != row["answer"]
            ):
                places.add((number, columns.index("start")))
    return [[number + 1, columns[index]] for number, index in sorted(places)]


# ---------------------------------------------------------------------------------- find_leaks


@variant("find_leaks")
def leaks_by_comparing_all(texts, labels, in_test):
    """Every row with every other, in NumPy."""
    import re

    plain = np.array([re.sub(r"\s+", " ", text).strip().casefold() for text in texts])
    same = plain[:, None] == plain[None, :]
    other_label = np.array(labels)[:, None] != np.array(labels)[None, :]
    test = np.asarray(in_test, dtype=bool)
    return same.argmax(axis=1), (same & other_label).any(axis=1), test & (same & ~test[None, :]).any(axis=1)


@variant("find_leaks")
def leaks_by_index(texts, labels, in_test):
    """Lists and their index."""
    plain = []
    for text in texts:
        plain.append(tuple(text.upper().split()))
    pairs = set(zip(plain, labels, strict=True))
    times = Counter(text for text, _ in pairs)
    train_texts = [text for text, test in zip(plain, list(in_test), strict=True) if not test]
    leaked = [test and text in train_texts for text, test in zip(plain, in_test.tolist(), strict=True)]
    first = [plain.index(text) for text in plain]
    return np.array(first), np.array([times[text] >= 2 for text in plain]), np.array(leaked)


@variant("find_leaks")
def leaks_by_numbers(texts, labels, in_test):
    """Gives every distinct text a number, and counts with it."""
    plain = [" ".join(text.split()).lower() for text in texts]
    _, first, number = np.unique(plain, return_index=True, return_inverse=True)
    contradicted = np.zeros(len(plain), dtype=bool)
    for each in range(number.max() + 1):
        inside = number == each
        contradicted[inside] = len({labels[row] for row in np.flatnonzero(inside)}) > 1
    return first[number], contradicted, in_test & np.isin(number, number[~in_test])


# ---------------------------------------------------------------------------------- split_by_group


@variant("split_by_group")
def split_with_arrays(groups, labels, order, share):
    """A table of groups and classes, and a running total as an array."""
    names = sorted(set(labels))
    table = np.zeros((len(order), len(names)), dtype=int)
    for group, label in zip(groups, labels, strict=True):
        table[order.index(group), names.index(label)] += 1
    wanted, running, test = share * table.sum(axis=0), np.zeros(len(names)), []
    for group, row in zip(order, table, strict=True):
        main = row.argmax()
        if running[main] < wanted[main]:
            running = running + row
            test.append(group)
    return np.isin(groups, test)


@variant("split_by_group")
def split_by_a_growing_mask(groups, labels, order, share):
    """Counts the test set anew each time."""
    groups, labels = np.array(groups), np.array(labels)
    mask = np.zeros(len(groups), dtype=bool)
    for group in order:
        inside = labels[groups == group]
        classes, counts = np.unique(inside, return_counts=True)
        main = classes[counts == counts.max()][0]
        if (labels[mask] == main).sum() / (labels == main).sum() < share:
            mask[groups == group] = True
    return mask


@variant("split_by_group")
def split_as_a_list(groups, labels, order, share):
    """Plain lists; skips a group whose class has enough."""
    in_test = [False] * len(groups)
    for group in order:
        rows = [row for row, other in enumerate(groups) if other == group]
        counted = sorted(Counter(labels[row] for row in rows).items(), key=lambda pair: (-pair[1], pair[0]))
        main = counted[0][0]
        have = sum(1 for row, test in enumerate(in_test) if test and labels[row] == main)
        if have >= share * labels.count(main):
            continue
        for row in rows:
            in_test[row] = True
    return in_test


# ---------------------------------------------------------------------------------- embed


@variant("embed")
def embed_into_a_table(encoder, tokenizer, texts, batch_size=32):
    """Fills a list of rows; inference mode; the mean by an einsum."""
    encoder = encoder.eval()
    rows = []
    with torch.inference_mode():
        while len(rows) < len(texts):
            some = texts[len(rows) : len(rows) + batch_size]
            given = tokenizer(some, return_tensors="pt", truncation=True, padding="longest")
            states = encoder(input_ids=given.input_ids, attention_mask=given.attention_mask)[0]
            weights = given.attention_mask / given.attention_mask.sum(dim=1, keepdim=True)
            rows.extend(torch.einsum("bl,bld->bd", weights, states).numpy())
    return np.stack(rows)


@variant("embed")
def embed_sorted_and_put_back(encoder, tokenizer, texts, batch_size=32):
    """Sorts by length to save padding, and puts the vectors back in order."""
    encoder.eval()
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    vectors = [None] * len(texts)
    for start in range(0, len(order), batch_size):
        places = order[start : start + batch_size]
        inputs = tokenizer(
            [texts[place] for place in places], padding=True, truncation=True, return_tensors="pt"
        )
        with torch.no_grad():
            output = encoder(**inputs)
        for place, states, mask in zip(
            places, output.last_hidden_state, inputs["attention_mask"], strict=True
        ):
            vectors[place] = states[mask.bool()].mean(dim=0)
    return torch.stack(vectors).numpy()


@variant("embed")
def embed_decorated(encoder, tokenizer, texts, batch_size=32):
    """A decorated helper, masked_fill, and np.concatenate."""

    @torch.no_grad()
    def vectors_of(some):
        inputs = tokenizer(list(some), padding=True, truncation=True, return_tensors="pt")
        states = encoder(**inputs).last_hidden_state
        hidden = states.masked_fill(inputs["attention_mask"][:, :, None] == 0, 0.0)
        return (hidden.sum(1) / inputs["attention_mask"].sum(1)[:, None]).numpy()

    encoder.train(False)
    return np.concatenate(
        [vectors_of(texts[place : place + batch_size]) for place in range(0, len(texts), batch_size)]
    )


# ---------------------------------------------------------------------------------- learning_curve


@variant("learning_curve")
def curve_as_lists(fit, features, labels, test_features, test_labels, sizes, orders):
    """Lists of accuracies, one for each size."""
    means, deviations = [], []
    for size in sizes:
        scores = []
        for order in orders:
            model = fit(features[order[0:size]], labels[order[0:size]])
            hits = [said == true for said, true in zip(model(test_features), test_labels, strict=True)]
            scores.append(sum(hits) / len(hits))
        mean = sum(scores) / len(scores)
        means.append(mean)
        deviations.append((sum((score - mean) ** 2 for score in scores) / (len(scores) - 1)) ** 0.5)
    return np.array(means), np.array(deviations)


@variant("learning_curve")
def curve_in_one_expression(fit, features, labels, test_features, test_labels, sizes, orders):
    """One nested comprehension, and the statistics module."""
    import statistics

    table = [
        [float((fit(features[o[:n]], labels[o[:n]])(test_features) == test_labels).mean()) for o in orders]
        for n in sizes
    ]
    return np.array([statistics.fmean(row) for row in table]), np.array([statistics.stdev(row) for row in table])


@variant("learning_curve")
def curve_with_a_mask(fit, features, labels, test_features, test_labels, sizes, orders):
    """Takes rows with np.take; the deviation is corrected by hand."""
    result = np.empty((len(sizes), len(orders)))
    for i, n in enumerate(sizes):
        for j in range(len(orders)):
            rows = np.sort(orders[j, :n])
            said = fit(np.take(features, rows, axis=0), np.take(labels, rows))(test_features)
            result[i, j] = 1 - np.mean(said != test_labels)
    repeats = len(orders)
    return result.mean(1), result.std(1) * np.sqrt(repeats / (repeats - 1))


# ---------------------------------------------------------------------------------- LoRALinear


@variant("LoRALinear")
class LoRAByFunctional(nn.Module):
    """Two functional linear layers; merges a deep copy."""

    def __init__(self, base, rank=8, alpha=16):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.factor = alpha / rank
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        nn.init.normal_(self.down, std=base.in_features**-0.5)
        self.up = nn.Parameter(base.weight.new_zeros((base.out_features, rank)))

    def forward(self, x):
        low = nn.functional.linear(x, self.down)
        return self.base(x) + nn.functional.linear(low, self.up) * self.factor

    def merged(self):
        import copy

        layer = copy.deepcopy(self.base)
        layer.weight.data += self.factor * self.up.data @ self.down.data
        return layer


@variant("LoRALinear")
class LoRAByEinsum(nn.Module):
    """einsum, and the factor inside of the correction."""

    def __init__(self, base, rank=8, alpha=16):
        super().__init__()
        self.base, self.rank, self.alpha = base, rank, alpha
        base.weight.requires_grad = False
        base.bias.requires_grad = False
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * base.in_features**-0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def correction(self):
        return torch.einsum("or,ri->oi", self.up, self.down) * self.alpha / self.rank

    def forward(self, x):
        return self.base(x) + torch.einsum("...i,oi->...o", x, self.correction())

    def merged(self):
        new = nn.Linear(self.base.in_features, self.base.out_features)
        new.load_state_dict(
            {"weight": (self.base.weight + self.correction()).detach(), "bias": self.base.bias}
        )
        return new


@variant("LoRALinear")
class LoRAByAddingWeights(nn.Module):
    """Adds the product to the weight, and uses that in every call."""

    def __init__(self, base, rank=8, alpha=16):
        super().__init__()
        for weight in (base.weight, base.bias):
            weight.requires_grad_(False)
        self.base = base
        self.register_parameter(
            "down", nn.Parameter(torch.randn(rank, base.in_features).div(base.in_features**0.5))
        )
        self.register_parameter("up", nn.Parameter(torch.zeros(base.out_features, rank)))
        self.scale = alpha / rank

    def weight(self):
        return self.base.weight + self.scale * torch.matmul(self.up, self.down)

    def forward(self, x):
        return nn.functional.linear(x, self.weight(), self.base.bias)

    def merged(self):
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        layer.weight = nn.Parameter(self.weight().detach().clone())
        layer.bias = nn.Parameter(self.base.bias.detach().clone())
        return layer


# ---------------------------------------------------------------------------------- bootstrap_interval


@variant("bootstrap_interval")
def interval_of_two_accuracies(ours, theirs, draws, level=0.95):
    """Both accuracies on each resample, subtracted; percentiles."""
    gains = ours[draws].mean(axis=1) - theirs[draws].mean(axis=1)
    return tuple(np.percentile(gains, [50 * (1 - level), 50 * (1 + level)]))


@variant("bootstrap_interval")
def interval_by_a_loop(ours, theirs, draws, level=0.95):
    """A loop over resamples, and quantiles one by one."""
    gains = []
    for rows in draws:
        wins = int(np.sum(ours[rows] & ~theirs[rows]))
        losses = int(np.sum(~ours[rows] & theirs[rows]))
        gains.append((wins - losses) / len(rows))
    outside = 1 - level
    return float(np.quantile(gains, outside / 2)), float(np.quantile(gains, level + outside / 2))


@variant("bootstrap_interval")
def interval_by_torch(ours, theirs, draws, level=0.95):
    """torch.quantile on a difference of integers."""
    gap = torch.tensor(ours.astype(int) - theirs.astype(int), dtype=torch.float64)
    means = gap[torch.tensor(draws)].mean(dim=1)
    ends = torch.quantile(means, torch.tensor([0.5 - level / 2, 0.5 + level / 2], dtype=torch.float64))
    return ends[0], ends[1]


# ---------------------------------------------------------------------------------- calibration_error


@variant("calibration_error")
def error_of_sorted_pieces(probabilities, labels, bins=10):
    """Sorts both arrays, splits both, and adds up sums."""
    sure = np.max(probabilities, axis=-1)
    order = np.argsort(sure)
    hits = (np.argmax(probabilities, axis=-1) == labels)[order]
    pieces = zip(np.array_split(sure[order], bins), np.array_split(hits, bins), strict=True)
    return sum(abs(float(hit.sum()) - float(one.sum())) for one, hit in pieces) / len(labels)


@variant("calibration_error")
def error_by_sizes(probabilities, labels, bins=10):
    """Computes the sizes of the bins by hand: the first ones are larger by one."""
    count = len(labels)
    rows = sorted(range(count), key=lambda row: probabilities[row].max())
    small, larger = divmod(count, bins)
    total, start = 0.0, 0
    for each in range(bins):
        inside = rows[start : start + small + (each < larger)]
        start += len(inside)
        accuracy = np.mean([probabilities[row].argmax() == labels[row] for row in inside])
        confidence = np.mean([probabilities[row].max() for row in inside])
        total += len(inside) * abs(accuracy - confidence)
    return np.float32(total / count)


@variant("calibration_error")
def error_by_average(probabilities, labels, bins=10):
    """np.average with weights."""
    confidence, said = probabilities.max(1).astype(float), probabilities.argmax(1)
    parts = np.array_split(confidence.argsort(), bins)
    distances = [np.abs((said[part] == labels[part]).mean() - confidence[part].mean()) for part in parts]
    return np.average(distances, weights=[part.size for part in parts])


# ---------------------------------------------------------------------------------- best_temperature


@variant("best_temperature")
def temperature_by_torch(logits, labels, candidates):
    """PyTorch's cross-entropy for each candidate."""
    scores, target = torch.tensor(logits, dtype=torch.float64), torch.tensor(labels)
    losses = [
        nn.functional.cross_entropy(scores / float(candidate), target).item() for candidate in candidates
    ]
    return candidates[losses.index(min(losses))]


@variant("best_temperature")
def temperature_at_once(logits, labels, candidates):
    """All temperatures at once, on an axis of their own."""
    scaled = logits[None].astype(float) / candidates[:, None, None]
    scaled -= scaled.max(axis=-1, keepdims=True)
    true = scaled[:, np.arange(len(labels)), labels]
    loss = np.log(np.exp(scaled).sum(axis=-1)) - true
    return candidates[loss.mean(axis=1).argmin()]


@variant("best_temperature")
def temperature_by_logsumexp(logits, labels, candidates):
    """SciPy's logsumexp, and min with a key."""
    from scipy.special import logsumexp

    def loss(heat):
        shrunk = np.divide(logits, heat, dtype=float)
        return float(
            np.sum(logsumexp(shrunk, axis=1) - np.take_along_axis(shrunk, labels[:, None], axis=1)[:, 0])
        )

    return float(min(candidates, key=loss))


# ---------------------------------------------------------------------------------- model_card


@variant("model_card")
def card_by_a_template(facts):
    """One text with places to fill."""
    low, high = facts["interval"]
    limits = "\n".join(f"* {limit}" for limit in facts["limits"])
    return f"""---
language: {facts["language"]}
license: {facts["license"]}
pipeline_tag: {facts["pipeline_tag"]}
base_model: {facts["base_model"]}
---

# {facts["name"]}

## Results

| measure | value |
|:---|---:|
| accuracy | {facts["accuracy"]:.3f} |
| 95 % interval | {low:.3f} to {high:.3f} |
| majority baseline | {facts["baseline"]:.3f} |
| calibration error | {facts["calibration_error"]:.3f} |
| training texts | {facts["training_texts"]} |
| test texts | {facts["test_texts"]} |

## Limits

{limits}
"""


@variant("model_card")
def card_by_yaml(facts):
    """YAML writes the front matter; the limits come before the results."""
    import yaml

    front = yaml.safe_dump({key: facts[key] for key in ("license", "language", "base_model", "pipeline_tag")})
    rows = {
        "training texts": facts["training_texts"],
        "test texts": facts["test_texts"],
        "accuracy": format(facts["accuracy"], ".3f"),
        "95 % interval": " to ".join(f"{end:.3f}" for end in facts["interval"]),
        "majority baseline": format(facts["baseline"], ".3f"),
        "calibration error": format(facts["calibration_error"], ".3f"),
    }
    table = "".join(f"|{name}|{value}|\n" for name, value in rows.items())
    limits = "".join(f"- {limit}\n" for limit in facts["limits"])
    return f"---\n{front}---\n# {facts['name']}\n\n## Limits\n\n{limits}\n## Results\n\n|measure|value|\n|-|-|\n{table}"


@variant("model_card")
def card_by_appending(facts):
    """One line after another; more sections than asked for."""
    card = "---\n"
    for key in ["license", "language", "base_model", "pipeline_tag"]:
        card += key + ": " + facts[key] + "\n"
    card += "tags:\n- course\n---\n\n# " + facts["name"] + "\n\nA model from a course.\n\n## Results\n\n"
    card += "| measure | value |\n| --- | --- |\n"
    for name, key in [("training texts", "training_texts"), ("test texts", "test_texts")]:
        card += "| " + name + " | " + str(facts[key]) + " |\n"
    for name, key in [
        ("accuracy", "accuracy"),
        ("majority baseline", "baseline"),
        ("calibration error", "calibration_error"),
    ]:
        card += "| " + name + " | " + format(facts[key], ".3f") + " |\n"
    card += "| 95 % interval | {:.3f} to {:.3f} |\n".format(*facts["interval"])
    card += "\n## Limits\n\n"
    for limit in facts["limits"]:
        card += "- " + limit + "\n"
    return card + "\n## Licence\n\nSee above.\n"


# ---------------------------------------------------------------------------------- predictions

@variant("predictions")
def predictions_as_an_array(texts):
    """An array of names, looked up by an array of numbers."""
    digits = (
        "0522230200230530544055302144315221050410220324302032204244445133032540402502213335452253345030400200"
        "4443542241422335452540203010055315035352040242134512010435241220523304221344521003405140152200225400"
        "0320122555022103220010130430421515240042225520325412022202150230101015325043403335210552554243501023"
    )
    return np.array(LIBRARIES)[np.array([int(digit) for digit in digits])]


@variant("predictions")
def predictions_by_text(texts):
    """A dict from text to label, so that the order of the texts does not matter."""
    digits = (
        "0522230200230530544055302144315221050410220324302032204244445133032540402502213335452253345030400200"
        "4443542241422335452540203010055315035352040242134512010435241220523304221344521003405140152200225400"
        "0320122555022103220010130430421515240042225520325412022202150230101015325043403335210552554243501023"
    )
    from course_utils.data.own import load_unlabelled

    label_of = {
        text: LIBRARIES[ord(digit) - ord("0")] for text, digit in zip(load_unlabelled(), digits, strict=True)
    }
    return [label_of[text] for text in texts]


@variant("predictions")
def predictions_as_names(texts):
    """Initials instead of digits; a tuple comes back, and one prediction is another one."""
    digits = (
        "0522230200230530544055302144315221050410220324302032204244445133032540402502213335452253345030400200"
        "4443542241422335452540203010055315035352040242134512010435241220523304221344521003405140152200225400"
        "0320122555022103220010130430421515240042225520325412022202150230101015325043403335210552554243501023"
    )
    initials = digits.translate(str.maketrans("012345", "mncqyt"))
    names = {
        "m": "matplotlib",
        "n": "networkx",
        "c": "scikit-learn",
        "q": "sqlalchemy",
        "y": "sympy",
        "t": "torch",
    }
    return tuple(names[letter] for letter in "t" + initials[1:])
