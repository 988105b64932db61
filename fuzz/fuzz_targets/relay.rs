//! Fuzzes [`hardline_simulate::fuzz::relay`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hardline_simulate::fuzz::relay(data));
