"""What the Python packages of static models make of texts. Runs in .venv-embedding.

    reference.py wordllama PACKAGE        < texts.json > vectors.json
    reference.py KIND-TYPE  DIRECTORY     < texts.json > vectors.json

KIND is the kind of a tokenizer (wordpiece, unigram, bpe), TYPE that of its numbers (float32, float16, int8): such a
model is trained on the texts and written to DIRECTORY, in model2vec's layout.
"""

import json
import sys
from pathlib import Path

import numpy as np
from model2vec import StaticModel
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from wordllama import WordLlama

SPECIAL = {"special_tokens": ["[PAD]", "[UNK]"]}
VOCABULARY = {"vocab_size": 400, "show_progress": False, **SPECIAL}


def wordllama(package: Path, texts: list[str]) -> np.ndarray:
    # It looks for its own tokenizer in a folder that it does not have; in a cache it finds it.
    return WordLlama.load(cache_dir=package, disable_download=True).embed(texts)


def tokenizer(kind: str, texts: list[str]) -> Tokenizer:
    if kind == "wordpiece":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(**VOCABULARY)
    elif kind == "unigram":
        made = Tokenizer(models.Unigram())
        made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(unk_token="[UNK]", **VOCABULARY)
    else:
        made = Tokenizer(models.BPE(unk_token="[UNK]"))
        made.normalizer = normalizers.NFC()
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.BpeTrainer(**VOCABULARY)
    # Half of the texts, so that the others have what is not known.
    made.train_from_iterator(texts[::2], trainer)
    return made


def model2vec(kind: str, numbers: str, folder: Path, texts: list[str]) -> np.ndarray:
    made = tokenizer(kind, texts)
    table = np.random.default_rng(7).normal(size=(made.get_vocab_size(), 64)) * 40
    table = table.clip(-127, 127).astype(numbers)
    made.save(str(folder / "tokenizer.json"))
    save_file({"embeddings": table}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"normalize": true}')
    # In single numbers: the mean of half-size ones is rounded on the way.
    return StaticModel(table.astype("float32"), made, normalize=True).encode(texts, max_length=None)


def main() -> None:
    which, folder = sys.argv[1], Path(sys.argv[2])
    texts = json.load(sys.stdin)
    vectors = wordllama(folder, texts) if which == "wordllama" else model2vec(*which.split("-"), folder, texts)
    json.dump(vectors.tolist(), sys.stdout)


main()
