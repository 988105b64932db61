//! Sets of characters, as sorted ranges with an index.

/// First and last code point of each range, in order.
pub(super) type Ranges = &'static [u32];

/// Number of pages that the index covers: those of the planes 0 and 1, which have nearly all text.
const PAGES: usize = 0x200;
/// Bits of a code point inside of its page.
const PAGE_BITS: u32 = 8;

/// A set of characters.
///
/// A lookup is a binary search among the ranges of one page, which are few.
#[derive(Debug)]
pub(super) struct CharSet {
    ranges: Ranges,
    /// Number of ranges that end before each page; the last one is for all pages without an index.
    starts: [u16; PAGES + 1],
}

impl CharSet {
    /// Creates a set.
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "runs at compile time, where a mistake is an error of the build"
    )]
    pub(super) const fn new(ranges: Ranges) -> Self {
        let mut starts = [0; PAGES + 1];
        let (mut page, mut range) = (0, 0);
        while page <= PAGES {
            while 2 * range < ranges.len() && ranges[2 * range + 1] < (page as u32) << PAGE_BITS {
                range += 1;
            }
            starts[page] = range as u16;
            page += 1;
        }
        Self { ranges, starts }
    }

    /// Returns true if the character is in the set.
    pub(super) fn has(&self, char: char) -> bool {
        let code = u32::from(char);
        let page = (code >> PAGE_BITS) as usize;
        let start = |page: usize| self.starts.get(page).copied().map(usize::from);
        let (pairs, _) = self.ranges.as_chunks::<2>();
        // The first range that ends in a later page may begin in this one.
        let near = match (start(page), start(page + 1)) {
            (Some(first), Some(next)) => pairs.get(first..pairs.len().min(next + 1)),
            _ => start(PAGES).and_then(|first| pairs.get(first..)),
        };
        let near = near.unwrap_or_default();
        let index = near.partition_point(|[_, last]| *last < code);
        near.get(index).is_some_and(|[first, _]| *first <= code)
    }
}
