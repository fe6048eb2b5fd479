"""Correct versions of lab 09's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. It uses what the set-up cell imports; all else is imported or
# defined inside. `token_loss` below stands in for the exercise of this name, which `train_epoch` may call.

import re
from collections import Counter

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.data.entities import Entity
from grader.catalogue import variant


def token_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


# ---------------------------------------------------------------------------------- clean_entities


@variant("clean_entities")
def clean_by_walking_inwards(text, entities):
    """Moves both ends one character at a time, then takes the best of what is left, again and again."""
    candidates = []
    for entity in entities:
        start, end = entity.start, entity.end
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            candidates.append(Entity(start, end, entity.label))
    kept = []
    while candidates:
        best = candidates[0]
        for other in candidates[1:]:
            longer = (other.end - other.start) - (best.end - best.start)
            if longer > 0 or (longer == 0 and other.start < best.start):
                best = other
        kept.append(best)
        candidates = [other for other in candidates if other.end <= best.start or best.end <= other.start]
    return sorted(kept, key=lambda entity: entity.start)


@variant("clean_entities")
def clean_with_a_table_of_characters(text, entities):
    """Trims with a regular expression, and notes for each character whether it is taken."""
    found = []
    for start, end, label in entities:
        core = re.search(r"\S(?:.*\S)?", text[start:end], flags=re.DOTALL)
        if core is not None:
            found.append((start + core.start(), start + core.end(), label))
    taken = bytearray(len(text))
    owner = {}
    for start, end, label in sorted(found, key=lambda span: (span[0] - span[1], span[0])):
        if any(taken[start:end]):
            continue
        taken[start:end] = b"\x01" * (end - start)
        owner[start] = Entity(start=start, end=end, label=label)
    return [owner[start] for start in sorted(owner)]


@variant("clean_entities")
def clean_with_a_heap(text, entities):
    """Trims by lengths, draws spans from a heap, and asks only the two neighbours in a sorted list."""
    import bisect
    import heapq

    heap = []
    for order, (a, b, what) in enumerate(entities):
        piece = text[a:b]
        a, b = a + len(piece) - len(piece.lstrip()), b - (len(piece) - len(piece.rstrip()))
        if a < b:
            heapq.heappush(heap, (a - b, a, order, what))
    kept: list[Entity] = []
    while heap:
        minus_length, a, _, what = heapq.heappop(heap)
        b = a - minus_length
        place = bisect.bisect_right([span.start for span in kept], a)
        if place > 0 and kept[place - 1].end > a:
            continue
        if place < len(kept) and kept[place].start < b:
            continue
        kept.insert(place, Entity(a, b, what))
    return kept


@variant("clean_entities")
def clean_with_stable_sorts(text, entities):
    """Sorts three times by one thing each, and compares sets of places."""
    spans = []
    for start, end, label in entities:
        inside = [i for i in range(start, end) if not text[i].isspace()]
        if inside:
            spans.append((inside[0], inside[-1] + 1, label))
    spans.sort(key=lambda s: s[0])
    spans.sort(key=lambda s: s[1] - s[0], reverse=True)
    used, result = set(), []
    for span in spans:
        places = set(range(span[0], span[1]))
        if places.isdisjoint(used):
            used |= places
            result.append(Entity(*span))
    result.sort()
    return result


@variant("clean_entities")
def clean_with_a_matrix(text, entities):
    """Works out which spans overlap in one table, with NumPy."""
    import numpy as np

    def trimmed(entity):
        stripped = text[entity[0] : entity[1]].strip()
        if not stripped:
            return None
        start = text.index(stripped, entity[0])
        return start, start + len(stripped), entity[2]

    spans = [span for span in map(trimmed, entities) if span]
    if not spans:
        return []
    starts, ends = np.array([[s, e] for s, e, _ in spans]).T
    overlap = (starts[:, None] < ends) & (starts < ends[:, None])
    alive, stays = np.ones(len(spans), dtype=bool), np.zeros(len(spans), dtype=bool)
    for i in np.lexsort((np.arange(len(spans)), starts, starts - ends)):
        if alive[i]:
            stays[i] = True
            alive &= ~overlap[i]
    chosen = [i for i in np.argsort(starts, kind="stable") if stays[i]]
    return [Entity(*spans[i]) for i in chosen]


# ---------------------------------------------------------------------------------- align_labels


@variant("align_labels")
def align_with_bisection(offsets, word_ids, entities, label_ids):
    """Searches the entity with bisect, and remembers all words and entities that it has met."""
    from bisect import bisect_right

    starts = [entity.start for entity in entities]
    words_met, entities_met, out = set(), set(), []
    for i, word in enumerate(word_ids):
        if word is None or word in words_met:
            out.append(-100)
            continue
        words_met.add(word)
        position = offsets[i][0]
        number = bisect_right(starts, position) - 1
        if number < 0 or position >= entities[number].end:
            out.append(label_ids["O"])
        elif number in entities_met:
            out.append(label_ids["I-" + entities[number].label])
        else:
            entities_met.add(number)
            out.append(label_ids["B-" + entities[number].label])
    return out


@variant("align_labels")
def align_entity_by_entity(offsets, word_ids, entities, label_ids):
    """Says O at all words first, and then overwrites for one entity after the other."""
    first = {}
    for i, word in enumerate(word_ids):
        if word is not None:
            first.setdefault(word, i)
    result = [-100] * len(offsets)
    for i in first.values():
        result[i] = label_ids["O"]
    for start, end, label in entities:
        prefix = "B"
        for i in sorted(first.values()):
            if start <= offsets[i][0] < end:
                result[i] = label_ids[f"{prefix}-{label}"]
                prefix = "I"
    return result


@variant("align_labels")
def align_with_a_map_of_characters(offsets, word_ids, entities, label_ids):
    """Makes a table from characters to entities, and groups the pieces by word."""
    from itertools import groupby

    entity_at = {place: entity for entity in entities for place in range(entity[0], entity[1])}
    labels, before = [], None
    for word, group in groupby(zip(word_ids, offsets, strict=True), key=lambda pair: pair[0]):
        group = list(group)
        if word is None:
            labels.extend([-100] * len(group))
            continue
        inside = entity_at.get(group[0][1][0])
        prefix = "I-" if inside == before else "B-"
        tag = "O" if inside is None else prefix + inside[2]
        before = inside
        labels += [label_ids[tag]] + [-100] * (len(group) - 1)
    return labels


@variant("align_labels")
def align_with_arrays(offsets, word_ids, entities, label_ids):
    """All in NumPy: searchsorted for the entity, comparisons with the neighbour for B and I."""
    import numpy as np

    ids = np.array([-1 if word is None else word for word in word_ids], dtype=int)
    begin = np.array([place[0] for place in offsets], dtype=int)
    labels = np.full(len(ids), -100)
    is_first = (ids >= 0) & (ids != np.concatenate([[-2], ids[:-1]]))
    at = begin[is_first]
    if len(entities) == 0:
        labels[is_first] = label_ids["O"]
        return labels.tolist()
    starts, ends = np.array([span[0] for span in entities]), np.array([span[1] for span in entities])
    which = np.searchsorted(starts, at, side="right") - 1
    which = np.where((which >= 0) & (at < ends[which]), which, -1)
    b = np.array([label_ids["B-" + span[2]] for span in entities])
    i = np.array([label_ids["I-" + span[2]] for span in entities])
    continues = which == np.concatenate([[-1], which[:-1]])
    labels[is_first] = np.where(which < 0, label_ids["O"], np.where(continues, i[which], b[which]))
    return labels.tolist()


@variant("align_labels")
def align_with_a_queue(offsets, word_ids, entities, label_ids):
    """Walks through pieces and entities side by side; what has ended is taken from the queue."""
    from collections import deque

    queue = deque(entities)
    begun = False  # the entity in front of the queue
    last_word = None
    labels = []
    for (start, _end), word in zip(offsets, word_ids, strict=True):
        new_word = word is not None and word != last_word
        last_word = word
        if not new_word:
            labels.append(-100)
            continue
        while queue and queue[0].end <= start:
            queue.popleft()
            begun = False
        if not queue or start < queue[0].start:
            labels.append(label_ids["O"])
            continue
        labels.append(label_ids[("I-" if begun else "B-") + queue[0].label])
        begun = True
    return labels


# ---------------------------------------------------------------------------------- encode_batch


@variant("encode_batch")
def encode_into_full_tensors(rows, pad_id):
    """Begins with tensors full of padding, and writes each row into its place."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    attention_mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        length = len(row["input_ids"])
        ids[i, :length] = torch.tensor(row["input_ids"], dtype=torch.long)
        labels[i, :length] = torch.tensor(row["labels"], dtype=torch.long)
        attention_mask[i, :length] = 1
    return {"input_ids": ids, "attention_mask": attention_mask, "labels": labels}


@variant("encode_batch")
def encode_with_pad_sequence(rows, pad_id):
    """Has PyTorch pad, and makes the mask from the lengths."""
    from torch.nn.utils.rnn import pad_sequence

    def padded(name, value):
        return pad_sequence([torch.tensor(row[name]) for row in rows], batch_first=True, padding_value=value)

    batch = {"input_ids": padded("input_ids", pad_id), "labels": padded("labels", -100)}
    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    batch["attention_mask"] = (torch.arange(lengths.max())[None, :] < lengths[:, None]).long()
    return batch


@variant("encode_batch")
def encode_column_by_column(rows, pad_id):
    """Goes through the rows in parallel with zip_longest, and transposes what comes out."""
    from itertools import zip_longest

    def table(lists, fill):
        return torch.LongTensor(list(zip_longest(*lists, fillvalue=fill))).T.contiguous()

    return dict(
        labels=table([row["labels"] for row in rows], -100),
        input_ids=table([row["input_ids"] for row in rows], pad_id),
        attention_mask=table([[1] * len(row["labels"]) for row in rows], 0),
    )


@variant("encode_batch")
def encode_with_numpy(rows, pad_id):
    """Cuts each row out of a long enough one, in NumPy."""
    import numpy as np

    sizes = [len(row["labels"]) for row in rows]
    places = np.arange(max(sizes)) < np.array(sizes)[:, None]
    ids, labels = np.full(places.shape, pad_id, dtype=np.int64), np.full(places.shape, -100, dtype=np.int64)
    ids[places] = np.concatenate([row["input_ids"] for row in rows])
    labels[places] = np.concatenate([row["labels"] for row in rows])
    return {
        "input_ids": torch.from_numpy(ids),
        "attention_mask": torch.from_numpy(places.astype(np.int64)),
        "labels": torch.from_numpy(labels),
    }


@variant("encode_batch")
def encode_by_joining_lists(rows, pad_id):
    """Joins plain lists, and stacks tensors that F.pad has made longer."""
    longest = 0
    for row in rows:
        if len(row["input_ids"]) > longest:
            longest = len(row["input_ids"])
    ids, mask, labels = [], [], []
    for row in rows:
        missing = longest - len(row["input_ids"])
        ids.append(row["input_ids"] + [pad_id] * missing)
        mask.append([1 for _ in row["input_ids"]] + [0 for _ in range(missing)])
        labels.append(F.pad(torch.tensor(row["labels"]), (0, missing), value=-100))
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask), "labels": torch.stack(labels)}


# ---------------------------------------------------------------------------------- TokenClassifier


@variant("TokenClassifier")
class ClassifierWithKeywords(nn.Module):
    """Hands everything to the encoder by name, and takes the first of what it returns."""

    def __init__(self, encoder: nn.Module, num_labels: int, dropout_rate: float = 0.1):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(in_features=encoder.config.hidden_size, out_features=num_labels)

    def forward(self, input_ids, attention_mask):
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        return self.classifier(self.dropout(states))


@variant("TokenClassifier")
class ClassifierWithItsOwnDropout(nn.Module):
    """Draws what is dropped itself, and multiplies with the matrix by hand; begins with small weights as BERT does."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.rate = dropout_rate
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)
        nn.init.normal_(self.classifier.weight, std=0.02)
        nn.init.zeros_(self.classifier.bias)
        self.encoder = encoder

    def forward(self, ids, mask):
        x = self.encoder(ids, attention_mask=mask).last_hidden_state
        if self.training and self.rate > 0:
            keep = torch.rand_like(x) >= self.rate
            x = x * keep * (1 / (1 - self.rate) if self.rate < 1 else 0.0)
        return torch.einsum("bth,nh->btn", x, self.classifier.weight) + self.classifier.bias


@variant("TokenClassifier")
class ClassifierOfFlatTokens(nn.Module):
    """Makes one long table of tokens, and gives the result its axes back."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout_rate)
        self.num_labels = num_labels
        self.classifier = nn.Linear(self.encoder.config.hidden_size, self.num_labels, bias=True)

    def forward(self, input_ids, attention_mask):
        output = self.encoder(input_ids, attention_mask=attention_mask)
        hidden = output["last_hidden_state"]
        batch, seq_len, width = hidden.shape
        table = self.dropout(hidden.reshape(batch * seq_len, width))
        return self.classifier(table).view(batch, seq_len, self.num_labels)


@variant("TokenClassifier")
class ClassifierInSteps(nn.Module):
    """Functions in place of modules, and the logits of padding set to 0."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        nn.Module.__init__(self)
        self.dropout_rate = dropout_rate
        self.add_module("encoder", encoder)
        self.add_module("classifier", nn.Linear(encoder.config.hidden_size, num_labels))

    def forward(self, input_ids, attention_mask):
        read = self.encoder(input_ids, attention_mask=attention_mask)
        context = F.dropout(read.last_hidden_state, p=self.dropout_rate, training=self.training)
        logits = F.linear(context, self.classifier.weight, self.classifier.bias)
        return logits.masked_fill(attention_mask.unsqueeze(-1) == 0, 0.0)


# ---------------------------------------------------------------------------------- token_loss


@variant("token_loss")
def loss_with_classes_on_axis_one(logits, labels):
    """Moves the classes to axis 1, where cross_entropy wants them."""
    return nn.CrossEntropyLoss(ignore_index=-100)(logits.permute(0, 2, 1), labels)


@variant("token_loss")
def loss_by_picking(logits, labels):
    """Log-softmax, then gather; sums what counts and divides by how much that is."""
    counts = labels.ne(-100)
    chances = torch.log_softmax(logits, dim=-1)
    picked = chances.gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2)
    return -(picked * counts).sum() / counts.sum()


@variant("token_loss")
def loss_of_what_is_labelled(logits, labels):
    """Throws away what does not count, and takes logsumexp minus the right logit."""
    keep = labels != -100
    z, y = logits[keep], labels[keep]
    return (z.logsumexp(dim=1) - z[torch.arange(len(y)), y]).mean()


@variant("token_loss")
def loss_in_loops(z, y):
    """Goes through the tokens one by one, with a shifted softmax."""
    total, count = 0.0, 0
    for row, targets in zip(z, y.tolist(), strict=True):
        for scores, target in zip(row, targets, strict=True):
            if target == -100:
                continue
            shifted = scores - scores.max().detach()
            total = total + torch.log(torch.exp(shifted).sum()) - shifted[target]
            count += 1
    return total / count


@variant("token_loss")
def loss_text_by_text(logits, labels):
    """The sum over each text's tokens, divided once by the number of all that count."""
    sums = [F.cross_entropy(text, target, reduction="sum") for text, target in zip(logits, labels, strict=True)]
    return torch.stack(sums).sum() / (labels != -100).sum().item()


@variant("token_loss")
def loss_with_one_hot_targets(logits, labels):
    """One-hot rows that are all 0 where nothing counts."""
    targets = torch.zeros_like(logits)
    where = (labels != -100).nonzero(as_tuple=True)
    targets[(*where, labels[where])] = 1
    return -(targets * F.log_softmax(logits, -1)).sum().div(targets.sum())


# ---------------------------------------------------------------------------------- train_epoch


@variant("train_epoch")
def epoch_with_the_loss_of_exercise_five(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """Calls token_loss, and empties the gradients before the first batch and after each step."""
    model.train()
    optimizer.zero_grad()
    history = []
    for batch in batches:
        logits = model(batch["input_ids"], batch["attention_mask"])
        loss = token_loss(logits, batch["labels"])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        optimizer.zero_grad()
        history.append(loss.item())
    return history


@variant("train_epoch")
def epoch_with_clipping_by_hand(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """Works out the norm itself, and goes through the batches with next."""
    model.train(True)
    losses = []
    iterator = iter(batches)
    while (batch := next(iterator, None)) is not None:
        model.zero_grad(set_to_none=False)
        logits = model(batch["input_ids"], batch["attention_mask"])
        loss = F.cross_entropy(logits.transpose(1, 2), batch["labels"])
        losses.append(float(loss.detach()))
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = sum((g.double() ** 2).sum() for g in gradients).sqrt().item()
        if norm > max_norm:
            for g in gradients:
                g.mul_(max_norm / norm)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return losses


@variant("train_epoch")
def epoch_with_gradients_asked_for(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """Asks autograd for the gradients, and puts them where the optimizer looks for them."""
    model.train()
    trained = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    losses = []
    for data in batches:
        ids, mask, labels = data["input_ids"], data["attention_mask"], data["labels"]
        logits = model(ids, mask)
        loss = token_loss(logits, labels)
        for p, g in zip(trained, torch.autograd.grad(loss, trained, allow_unused=True), strict=True):
            p.grad = g
        torch.nn.utils.clip_grad_norm_(trained, max_norm=max_norm)
        optimizer.step()
        scheduler and scheduler.step()
        losses += [loss.item()]
    return losses


@variant("train_epoch")
def epoch_with_a_helper(network, data, optimiser, plan=None, max_norm=1.0):
    """One step as a function of its own, in two parts; tells how it goes."""
    network.train()
    parameters = list(network.parameters())

    def gradients_of(batch):
        for p in parameters:
            p.grad = None
        scores = network(batch["input_ids"], batch["attention_mask"])
        counts = batch["labels"] != -100
        loss = -F.log_softmax(scores[counts], dim=-1)[torch.arange(counts.sum()), batch["labels"][counts]].mean()
        loss.backward()
        return loss.detach().item()

    def step():
        nn.utils.clip_grad_norm_(parameters, max_norm, foreach=False)
        optimiser.step()
        if plan is not None:
            plan.step()

    losses = []
    for number, batch in enumerate(data, start=1):
        losses.append(gradients_of(batch))
        step()
        print(f"batch {number}: loss {losses[-1]:.3f}")
    return losses


# ---------------------------------------------------------------------------------- decode_entities


@variant("decode_entities")
def decode_words_first(predictions, offsets, word_ids, labels):
    """Puts pieces together to words, and then words to entities."""
    words = {}
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            continue
        if word in words:
            words[word]["end"] = end
        else:
            words[word] = {"tag": labels[number], "start": start, "end": end}
    spans, label_before = [], None
    for word in words.values():
        prefix, _, label = word["tag"].partition("-")
        if prefix == "O":
            label_before = None
            continue
        if prefix == "I" and label == label_before:
            spans[-1] = spans[-1]._replace(end=word["end"])
        else:
            spans.append(Entity(word["start"], word["end"], label))
        label_before = label
    return spans


@variant("decode_entities")
def decode_backwards(predictions, offsets, word_ids, labels):
    """Goes from the end to the front: where a word ends is known before where it begins."""
    words = []  # from the last to the first
    end = None
    for i in reversed(range(len(word_ids))):
        if word_ids[i] is None:
            continue
        if end is None:
            end = offsets[i][1]
        if i == 0 or word_ids[i - 1] != word_ids[i]:
            words.append((labels[predictions[i]], offsets[i][0], end))
            end = None
    entities, stop = [], None
    for number, (tag, start, word_end) in enumerate(words):
        if tag == "O":
            continue
        stop = word_end if stop is None else stop
        tag_in_front = words[number + 1][0] if number + 1 < len(words) else "O"
        if tag[0] == "I" and tag_in_front != "O" and tag_in_front[2:] == tag[2:]:
            continue
        entities.append(Entity(start, stop, tag[2:]))
        stop = None
    return entities[::-1]


@variant("decode_entities")
def decode_with_a_state(predictions, offsets, word_ids, labels):
    """Keeps start, end and label of what is open, and closes it when it is over."""
    entities = []
    start = end = label = None
    last = None
    for i in range(len(predictions)):
        word = word_ids[i]
        if word is None:
            last = None
            continue
        if word == last:
            if label is not None:
                end = offsets[i][1]
            continue
        last = word
        tag = labels[predictions[i]]
        if label is not None and tag == "I-" + label:
            end = offsets[i][1]
            continue
        if label is not None:
            entities.append(Entity(start, end, label))
        if tag == "O":
            start = end = label = None
        else:
            start, end, label = offsets[i][0], offsets[i][1], tag.split("-", 1)[1]
    if label is not None:
        entities.append(Entity(start, end, label))
    return entities


@variant("decode_entities")
def decode_with_a_regular_expression(predictions, offsets, word_ids, labels):
    """Writes the tags as a string, one letter for each word, and lets a pattern find the runs."""
    firsts = [i for i, w in enumerate(word_ids) if w is not None and w not in word_ids[:i]]
    if not firsts:
        return []
    ends = {w: place[1] for w, place in zip(word_ids, offsets, strict=True)}
    tags = [labels[predictions[i]] for i in firsts]
    found = []
    for label in {tag[2:] for tag in tags if tag != "O"}:
        code = "".join(tag[0] if tag[1:] == "-" + label else "." for tag in tags)
        for run in re.finditer("[BI]I*", code):
            first, last = firsts[run.start()], firsts[run.end() - 1]
            found.append(Entity(offsets[first][0], ends[word_ids[last]], label))
    return sorted(found)


@variant("decode_entities")
def decode_with_groups(predictions, offsets, word_ids, labels):
    """Numbers the entities with a running count, and groups the words by it."""
    from itertools import accumulate, groupby

    pieces = [row for row in zip(word_ids, predictions, offsets, strict=True) if row[0] is not None]
    words = [list(group) for _, group in groupby(pieces, key=lambda row: row[0])]
    tags = [labels[group[0][1]] for group in words]
    kinds = ["" if tag == "O" else tag[2:] for tag in tags]
    begins = [
        tag.startswith("B-") or kind != before
        for tag, kind, before in zip(tags, kinds, ["", *kinds], strict=False)
    ]
    numbers = accumulate(map(int, begins))
    entities = []
    for _, members in groupby(zip(numbers, kinds, words, strict=True), key=lambda row: row[0]):
        members = list(members)
        if members[0][1]:
            entities.append(Entity(members[0][2][0][2][0], members[-1][2][-1][2][1], members[0][1]))
    return entities


# ---------------------------------------------------------------------------------- entity_scores


@variant("entity_scores")
def scores_from_sets_of_all_documents(gold, predicted):
    """Puts the number of the document in front, and then compares two large sets."""
    true = {(number, *entity) for number, document in enumerate(gold) for entity in document}
    guessed = {(number, *entity) for number, document in enumerate(predicted) for entity in document}

    def prf(t, g):
        tp = len(t & g)
        precision = tp / len(g) if g else 0.0
        recall = tp / len(t) if t else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return precision, recall, f1

    names = {entity[-1] for entity in true | guessed}
    scores = {
        name: prf({entity for entity in true if entity[-1] == name}, {entity for entity in guessed if entity[-1] == name})
        for name in names
    }
    scores["all"] = prf(true, guessed)
    return scores


@variant("entity_scores")
def scores_from_counted_cases(gold, predicted):
    """Counts TP, FP and FN in lists, one document after the other."""
    cases = {"all": [0, 0, 0]}
    for truth, guess in zip(gold, predicted, strict=True):
        for entity in guess:
            column = 0 if entity in truth else 1
            cases.setdefault(entity.label, [0, 0, 0])[column] += 1
            cases["all"][column] += 1
        for entity in truth:
            if entity not in guess:
                cases.setdefault(entity.label, [0, 0, 0])[2] += 1
                cases["all"][2] += 1
    result = {}
    for label, (tp, fp, fn) in cases.items():
        if tp == 0:
            result[label] = (0.0, 0.0, 0.0)
        else:
            result[label] = (tp / (tp + fp), tp / (tp + fn), tp / (tp + (fp + fn) / 2))
    return result


@variant("entity_scores")
def scores_with_one_counter(gold, predicted):
    """One Counter of label and kind; the division catches 0/0."""
    count = Counter()
    for i in range(len(gold)):
        right = set(gold[i]).intersection(predicted[i])
        for kind, group in (("true", gold[i]), ("found", predicted[i]), ("right", right)):
            for _, _, label in group:
                count.update([(label, kind), ("all", kind)])

    def ratio(a, b):
        try:
            return a / b
        except ZeroDivisionError:
            return 0.0

    scores = {}
    for label in {label for label, _ in count} | {"all"}:
        right, found, true = (count[label, kind] for kind in ("right", "found", "true"))
        scores[label] = (ratio(right, found), ratio(right, true), ratio(2 * right, found + true))
    return scores


@variant("entity_scores")
def scores_with_arrays(gold, predicted):
    """A row of counts for each label in NumPy, and all divisions at once."""
    import numpy as np

    labels = sorted({entity[2] for part in (gold, predicted) for document in part for entity in document})
    row = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(labels) + 1, 3))  # right, found, true; the last row is all
    for truth, guess in zip(gold, predicted, strict=True):
        for column, chosen in enumerate([set(truth) & set(guess), guess, truth]):
            for entity in chosen:
                counts[row[entity[2]], column] += 1
    counts[-1] = counts.sum(axis=0)
    tp, found, true = counts.T
    precision, recall = tp / np.maximum(found, 1), tp / np.maximum(true, 1)
    f1 = 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1)
    table = np.stack([precision, recall, f1], axis=1).tolist()
    return {name: tuple(numbers) for name, numbers in zip([*labels, "all"], table, strict=True)}
