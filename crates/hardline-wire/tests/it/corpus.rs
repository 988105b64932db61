//! The fuzz targets on their checked-in corpus, so that findings stay fixed even where no fuzzer
//! runs.

use std::fs;
use std::path::Path;

use hardline_testkit::fuzz::TARGETS;

#[test]
fn every_fuzz_target_passes_on_its_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, body) in TARGETS {
        let mut inputs = 0;
        for entry in fs::read_dir(root.join(name)).unwrap() {
            let path = entry.unwrap().path();
            eprintln!("{}", path.display());
            body(&fs::read(&path).unwrap());
            inputs += 1;
        }
        assert!(10 <= inputs, "{name} has a corpus of {inputs}");
    }
}
