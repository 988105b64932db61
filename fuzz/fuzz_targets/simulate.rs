//! Fuzzes [`hardline_simulate::fuzz::simulate`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hardline_simulate::fuzz::simulate(data));
