"""Trains the small tokenizers of the text tests and writes what Hugging Face tokenizers make of hard strings with them.

    python3 -m venv v && v/bin/pip install tokenizers==0.23.3 && v/bin/python tests/unit/text/generate_tokenizers.py

Writes data/NAME.json (a tokenizer.json) and data/NAME.expected.json for four tokenizers:
    bytelevel   byte-level BPE, as GPT-2's
    llama       SentencePiece-style BPE with byte fallback, in the form of Llama's tokenizer.json
    added       byte-level, prefix space, and added tokens that strip spaces, want whole words, or begin one another
    pieces      characters without byte fallback, a normalizer, normalized added tokens, unknown characters one by one
The training text and the strings are written here; nothing is downloaded.
"""
import json
import os
import random

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

PROSE = """The linnet sang on the garden wall, and the gardener stopped to listen. "What is it that you sing?" he asked. It was raining.
The bird didn't answer; it's hard to talk while singing. They'll come back tomorrow, he thought, and we'll see who's there.
In the morning there were three of them: one on the wall, one in the pear tree, and one that wouldn't be seen at all.
He counted 1, 2, 3, then 10, 20, 2024 and 31415. The numbers were wrong, but the song was right, and that was enough for him.
Once upon a time there was a little house by the river. The little house had a little door, and the door had a little key.
    for i in range(10):
        print(i, i * i)   # squares
    if (a != b) { return a + b; } else { return 0; }
Le petit oiseau chante; der Vogel singt; el pájaro canta; птица поёт; το πουλί τραγουδά; 鳥が歌う; 새가 노래한다.
"""
TEXT = [line for _ in range(3) for line in PROSE.splitlines()]
LATIN = [line for line in TEXT if line.isascii()] + ["Les étés passés, l'oiseau chantait; der Vogel sang früh."]  # other scripts stay unknown

STRINGS = [
    "", " ", "  ", "   ", "\n", "\n\n\n", "\t", " \t \n ", "a", " a", "a ", "  a  ",
    "The linnet sang on the garden wall.", "Once upon a time there was a little house", "didn't we'll they've I'm he'd 'S 'LL it''s",
    "a   b", "a \n  b", "a\u00a0b", "trailing   ", "\u00a0\u00a0x", "line\r\nline\r\n\r\n", "a\u2003b\u3000c\u180ed\u0085e",
    "0", "12345678901234567890", "3.14159e-10", "1,000,000 and 2024", "x²+y₃=½ ٣٤ Ⅷ",
    "e\u0301 \u00e9 A\u030a", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "日本語のテキスト、中文。", "สวัสดีครับ नमस्ते", "Привет, мир! Γειά", "שלום עולם مرحبا",
    "😀", "👨‍👩‍👧‍👦 👍🏽 🇫🇷🇩🇪", "a😀b😀", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "ﬁ Å ①", "\ufeffbom", "\u200b\u200d\u2060",
    "a\u0000b", "\u0000", "\u0001\u0002\u001f\u007f\u0080", "\ufffd\uffff\U0010ffff", "\ue000",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "==========----------......", "!!!???...'''\"\"\"",
    "abababababababababab the the the thethethe",
    "def f(x):\n    return x ** 2  # square\n\n\nclass A:\n\tpass", "<div class=\"a\">&amp;</div>", "https://example.org/a?b=c&d=%20#e",
    "{\"k\": [1, 2.5, null]}",
    "<s>", "</s>", "<unk>", "<|endoftext|>", "a<|endoftext|>b", "<s> a </s> b<s>", "<|endoftext", "|endoftext|>", "<0x41><0xE2>", "▁", "▁▁a▁b",
    "Ġthe Ċ",
]
# For the tokenizers with many added tokens.
STRINGS_ADDED = [
    "<a>", "<ab>", "<a>b", "<a>bc", "<a", "<ab", "x<a>bc<a>b<a>", "left  <L>  x", "<R>   x", "a <R> \n\t b", "  <B>  ", "x<B>y", "a\u00a0<B>\u2003b",
    "<R><L>", "<R>  <L>",
    "<B><B> <B>", "word", "a word here", "swordword words", "word,word;word", "wordé éword word́", "_word_ word_ 1word", "word", "word word  word",
    "\u0000", "a\u0000b",
    "foo bar", "foobar", "xfoo", "a foo b", "foo", " foo", "  foo  ", "New York", "NewYork", "in New York now", "New  York", "<sp>", "a<sp>b",
    "<sp> <sp>", "   ", "a   b", "x" * 200,
    "y" + "x" * 200 + "x", "<a><L><R><B><sp>", "été", "l'été été.", "foo<sp>foo", "foo <sp> foo", "café", "a café b", "<n>", " <n> ", "a<n>b<n>",
]


def added(content, **flags):
    return AddedToken(content, **(dict(single_word=False, lstrip=False, rstrip=False, normalized=False) | flags))


def bytelevel():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=480, special_tokens=["<|endoftext|>"],
                                                    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return t


def llama():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # while it is trained
    special = ["<unk>", "<s>", "</s>"]
    t.train_from_iterator(LATIN, trainers.BpeTrainer(vocab_size=500, special_tokens=special + [f"<0x{b:02X}>" for b in range(256)],
                                                     show_progress=False))
    t.pre_tokenizer = None
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return drop_added(t, special)


def added_tokens():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=330, special_tokens=["<s>", "</s>"],
                                                    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    template = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    t.add_tokens([added("<a>"), added("<a>b", normalized=True), added("<a>bc"), added("<ab>"), added("<L>", lstrip=True), added("<R>", rstrip=True),
                  added("<B>", lstrip=True, rstrip=True), added("word", single_word=True), added("foo", single_word=True, normalized=True),
                  added("New York", normalized=True), added("été", single_word=True), added("\u0000"), added("x" * 200), added("   "),
                  added("café", normalized=True, lstrip=True)])
    t.add_special_tokens([added("<sp>"), added("<n>", normalized=True, rstrip=True)])
    return t


def pieces():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    t.train_from_iterator(LATIN, trainers.BpeTrainer(vocab_size=260, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False))
    t.pre_tokenizer = None
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    t.add_tokens([added("<a>"), added("<a>b", normalized=True), added("<a>bc"), added("<L>", lstrip=True), added("<R>", rstrip=True),
                  added("<B>", lstrip=True, rstrip=True, normalized=True), added("word", single_word=True),
                  added("foo", single_word=True, normalized=True), added("New York", normalized=True), added("New"), added("café", normalized=True)])
    t.add_special_tokens([added("<sp>"), added("<n>", normalized=True)])
    return t


def drop_added(t, keep):
    """The byte tokens were made by the trainer as special ones; in Llama's file they are ordinary."""
    d = json.loads(t.to_str())
    d["added_tokens"] = [a for a in d["added_tokens"] if a["content"] in keep]
    return Tokenizer.from_str(json.dumps(d))


def encode(t, text, special, parse):
    t.encode_special_tokens = not parse
    try:
        return t.encode(text, add_special_tokens=special).ids
    except BaseException:  # some overlaps of stripped spaces make the library panic
        return None


def expected(t, strings, seed):
    cases, decodes = [], []
    for text in strings:
        ids, all_ids, plain = encode(t, text, False, True), encode(t, text, True, True), encode(t, text, False, False)
        if None in (ids, all_ids, plain):
            continue
        cases.append(dict(text=text, ids=ids, ids_with_special=all_ids, ids_plain=plain, decoded=t.decode(all_ids, skip_special_tokens=False),
                          decoded_skip_special=t.decode(all_ids)))
    rnd = random.Random(seed)
    size = max(t.get_vocab().values()) + 1
    odd = sorted(t.get_added_tokens_decoder()) + sorted(i for token, i in t.get_vocab().items() if token.startswith("<0x") or len(token) == 1)
    for _ in range(40):
        ids = [rnd.choice(odd) if rnd.random() < 0.5 else rnd.randrange(size + 3) for _ in range(rnd.randrange(1, 14))]
        decodes.append(dict(ids=ids, decoded=t.decode(ids, skip_special_tokens=False), decoded_skip_special=t.decode(ids)))
    return dict(library="tokenizers 0.23.3", cases=cases, decodes=decodes)


def main():
    os.makedirs(HERE, exist_ok=True)
    for name, make, strings in (("bytelevel", bytelevel, STRINGS), ("llama", llama, STRINGS), ("added", added_tokens, STRINGS[:30] + STRINGS_ADDED),
                                ("pieces", pieces, STRINGS[:45] + STRINGS_ADDED)):
        t = make()
        with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(json.loads(t.to_str()), f, ensure_ascii=False, separators=(",", ":"))
        with open(os.path.join(HERE, name + ".expected.json"), "w", encoding="utf-8") as f:
            json.dump(expected(t, strings, name), f, ensure_ascii=True, separators=(",", ":"))
        print(name, t.get_vocab_size(), "tokens")


if __name__ == "__main__":
    main()
