//! Duplicate keys: one stack holds the keys of all open objects, innermost last.
//!
//! A key is identified by a hash over all its unescaped bytes. No peer knows the seeds, so no
//! choice of keys causes many collisions; bytes are compared only if hashes are equal. Each object
//! has a set of 64 bits, and each key sets one of them: a key whose bit is free is new, and only
//! otherwise is its hash compared with the others. This is done up to thirty-two keys. The hashes
//! of a wider object are put into a hash table when it closes.

use std::hash::{BuildHasher, RandomState};

use super::string;

/// Keys of the open objects.
#[derive(Debug)]
pub(super) struct Keys {
    seeds: Seeds,
    entries: Vec<Entry>,
    wide: Wide,
    /// Buffers for unescaped keys.
    scratch: Scratch,
}

/// The part of the stack that belongs to one object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// Number of keys below its own.
    first: usize,
    /// Bits of its keys.
    bits: u64,
}

/// One key. A text is never longer than a gigabyte, so 32 bits are enough for positions.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Equal keys have equal hashes.
    hash: u64,
    /// Start of the content, after the quote.
    start: u32,
    /// Length of the content; the highest bit is set if it has escapes.
    len: u32,
}

/// Finds duplicates among many keys: open addressing, at most half full. A slot holds part of a
/// key's hash, or zero if it is free.
#[derive(Debug, Default)]
struct Wide {
    slots: Vec<u32>,
}

type Seeds = (u64, u64);
type Scratch = (Vec<u8>, Vec<u8>);

/// Widest object whose keys are compared as they arrive.
const NARROW: usize = 32;
/// Capacity limit of entries and slots between texts.
const KEPT: usize = 1 << 12;

impl Keys {
    pub(super) fn new() -> Self {
        let random = RandomState::new();
        Self {
            seeds: (random.hash_one(0), random.hash_one(1)),
            entries: Vec::new(),
            wide: Wide::default(),
            scratch: Scratch::default(),
        }
    }

    /// Opens an object.
    #[inline]
    pub(super) fn open(&self) -> Group {
        Group { first: self.entries.len(), bits: 0 }
    }

    /// Adds the key at `start..end` of `text` to an object.
    ///
    /// Returns false if the key is a known duplicate. In wide objects, [`close`](Self::close) finds
    /// the rest.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        group: &mut Group,
        text: &str,
        (start, end): (usize, usize),
        escaped: bool,
    ) -> bool {
        let (mut bytes, mut range) = (text.as_bytes(), (start, end));
        if escaped {
            unescaped(text, start, end, &mut self.scratch.0);
            (bytes, range) = (&self.scratch.0, (0, self.scratch.0.len()));
        }
        let hash = hash(self.seeds, bytes, range.0, range.1);
        let entry = Entry::new(hash, start, end, escaped);
        // The top six bits of the hash select one of 64 bits.
        let bit = 1 << (hash >> 58);
        let is_narrow = self.entries.len() < group.first + NARROW;
        if is_narrow && group.bits & bit != 0 && self.find_sibling(*group, text, entry) {
            return false;
        }
        group.bits |= bit;
        self.entries.push(entry);
        true
    }

    #[inline(never)]
    fn find_sibling(&mut self, group: Group, text: &str, entry: Entry) -> bool {
        let Self { entries, scratch, .. } = self;
        let siblings = entries.get(group.first..).unwrap_or_default();
        siblings.iter().any(|it| it.same(text, entry, scratch))
    }

    /// Closes an object.
    ///
    /// Returns the position of the first repeated key, if there is one.
    #[inline]
    pub(super) fn close(&mut self, group: Group, text: &str) -> Option<usize> {
        // The keys of a narrow object were compared when they arrived.
        if self.entries.len() <= group.first + NARROW {
            self.entries.truncate(group.first);
            return None;
        }
        let repeated = self.first_repeated(group, text);
        self.entries.truncate(group.first);
        repeated
    }

    #[inline(never)]
    fn first_repeated(&mut self, group: Group, text: &str) -> Option<usize> {
        let Self { entries, wide, scratch, .. } = self;
        let entries = entries.get(group.first..).unwrap_or_default();
        wide.reset(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            if wide.insert(entry.hash) {
                continue;
            }
            // The slot holds only 31 bits of the hash, so compare the keys themselves.
            let earlier = entries.get(..index).unwrap_or_default();
            if earlier.iter().any(|it| it.same(text, *entry, scratch)) {
                return Some(entry.start as usize);
            }
        }
        None
    }

    /// Removes everything and frees large buffers.
    pub(super) fn clear(&mut self) {
        let Self { entries, wide, scratch, .. } = self;
        entries.clear();
        entries.shrink_to(KEPT);
        wide.slots.clear();
        wide.slots.shrink_to(KEPT);
        scratch.0.clear();
        scratch.0.shrink_to(KEPT);
        scratch.1.clear();
        scratch.1.shrink_to(KEPT);
    }
}

impl Entry {
    const ESCAPED: u32 = 1 << 31;

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "no text is longer than a gigabyte")]
    fn new(hash: u64, start: usize, end: usize, escaped: bool) -> Self {
        let len = (end - start) as u32;
        let len = if escaped { len | Self::ESCAPED } else { len };
        Self { hash, start: start as u32, len }
    }

    fn content(self, text: &str) -> &str {
        let (start, len) = (self.start as usize, (self.len & !Self::ESCAPED) as usize);
        text.get(start..start + len).unwrap_or_default()
    }

    /// Returns true if two keys unescape to the same bytes.
    #[inline]
    fn same(self, text: &str, other: Self, scratch: &mut Scratch) -> bool {
        self.hash == other.hash && self.same_content(text, other, scratch)
    }

    #[cold]
    fn same_content(self, text: &str, other: Self, scratch: &mut Scratch) -> bool {
        let (left, right) = (self.content(text), other.content(text));
        if (self.len | other.len) & Self::ESCAPED == 0 {
            return left == right;
        }
        string::unescape_bytes(left, &mut scratch.0);
        string::unescape_bytes(right, &mut scratch.1);
        scratch.0 == scratch.1
    }
}

impl Wide {
    /// Makes room for `keys` keys. The cost is proportional to their number.
    fn reset(&mut self, keys: usize) {
        self.slots.clear();
        self.slots.resize((keys * 2).next_power_of_two(), 0);
    }

    /// Returns true if no earlier key had this hash, judged by 31 bits of it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a part of the hash is enough")]
    fn insert(&mut self, hash: u64) -> bool {
        let mask = self.slots.len() - 1;
        // The lowest bit is always set, because zero marks a free slot.
        let tag = (hash >> 32) as u32 | 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots.get_mut(slot) {
                Some(free @ 0) => {
                    *free = tag;
                    return true;
                }
                Some(taken) if *taken == tag => return false,
                // Ends at a free slot, because the table is at most half full.
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

#[cold]
fn unescaped(text: &str, start: usize, end: usize, out: &mut Vec<u8>) {
    string::unescape_bytes(text.get(start..end).unwrap_or_default(), out);
}

/// Hashes `bytes[start..end]` by folded multiplication.
#[inline(always)]
fn hash(seeds: Seeds, bytes: &[u8], start: usize, end: usize) -> u64 {
    let len = end - start;
    let rest = bytes.get(start..).unwrap_or_default();
    let (low, high) = match rest.first_chunk::<8>() {
        // The key ends within the word, so mask out the bytes after it.
        Some(first) if len < 8 => (u64::from_le_bytes(*first) & !(u64::MAX << (len * 8)), 0),
        Some(first) if len <= 16 => {
            // The two words may overlap; the length is mixed in, so the hash stays unambiguous.
            let last = rest.get(len - 8..).and_then(|tail| tail.first_chunk()).unwrap_or(first);
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        }
        Some(_) => return hash_long(seeds, rest.get(..len).unwrap_or_default()),
        None => (word(rest.get(..len).unwrap_or_default()), 0),
    };
    fold(low ^ seeds.0, high ^ seeds.1 ^ len as u64)
}

/// Hashes a key of more than sixteen bytes.
#[inline(never)]
fn hash_long(seeds: Seeds, key: &[u8]) -> u64 {
    let mut hash = seeds.0 ^ key.len() as u64;
    // The last block overlaps the one before it, so that no block is short.
    let whole = key.get(..key.len() - 1).unwrap_or_default().chunks_exact(16);
    let last = key.get(key.len() - 16..).unwrap_or_default();
    for block in whole.chain([last]) {
        let (low, high) = block.split_at(8);
        hash = fold(hash ^ word(low), seeds.1 ^ word(high));
    }
    fold(hash, seeds.1)
}

/// Packs up to eight bytes into a little-endian number.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "both halves of the product are used")]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left).wrapping_mul(u128::from(right));
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const SEEDS: Seeds = (0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);

    fn alone(key: &[u8]) -> u64 {
        hash(SEEDS, key, 0, key.len())
    }

    #[test]
    fn hashes_depend_on_every_byte() {
        for len in 0..70 {
            let key = vec![b'a'; len];
            let mut seen = HashSet::from([alone(&key)]);
            for index in 0..len {
                for bit in 0..8 {
                    let mut other = key.clone();
                    other[index] ^= 1 << bit;
                    assert!(seen.insert(alone(&other)), "byte {index} of {len}");
                }
            }
        }
    }

    #[test]
    fn hashes_depend_on_length_and_seeds() {
        let by_length: HashSet<_> = (0..100).map(|len| alone(&vec![0; len])).collect();
        assert_eq!(by_length.len(), 100);
        let by_seed: HashSet<_> = (1..100).map(|seed| hash((seed, 7), b"key", 0, 3)).collect();
        assert_eq!(by_seed.len(), 99);
    }

    #[test]
    fn hashes_do_not_depend_on_what_follows_the_key() {
        for len in 0..40 {
            let key = &b"abcdefghijklmnopqrstabcdefghijklmnopqrst"[..len];
            let inside = [b"xx", key, b"\":1234567890"].concat();
            assert_eq!(hash(SEEDS, &inside, 2, 2 + len), alone(key), "{len}");
        }
    }
}
