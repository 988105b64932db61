//! Fuzzes [`hardline_testkit::fuzz::json`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hardline_testkit::fuzz::json(data));
