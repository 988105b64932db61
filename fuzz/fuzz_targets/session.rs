//! Fuzzes [`hardline_testkit::fuzz::session`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hardline_testkit::fuzz::session(data));
