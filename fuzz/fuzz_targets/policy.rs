//! Fuzzes [`hardline_testkit::fuzz::policy`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hardline_testkit::fuzz::policy(data));
