//! JavaScript runtimes and package runners.

use super::table::{NONE, Row};
use super::{Family, Operand, Registry};

const SCRIPTS: &str = "js mjs cjs jsx ts mts cts tsx";

const NODE: Family = Family {
    inline: "e p i --eval --print --interactive",
    named: "r --require --import --loader --experimental-loader --env-file --env-file-if-exists \
             --snapshot-blob --build-snapshot --build-snapshot-config --openssl-config \
             --experimental-config-file --test-reporter --test-global-setup --icu-data-dir",
    // A debugger can run any code.
    sources: "--inspect --inspect-brk --inspect-wait --inspect-port --debug-port",
    mains: "--run --test --prof-process --v8-options --completion-bash --experimental-sea-config",
    valued: "r C --require --import --loader --experimental-loader --conditions --title \
             --input-type --unhandled-rejections --env-file --env-file-if-exists \
             --stack-trace-limit --dns-result-order --icu-data-dir --max-http-header-size \
             --redirect-warnings --snapshot-blob --build-snapshot-config --openssl-config \
             --experimental-config-file --experimental-default-type --experimental-policy \
             --experimental-sea-config --policy-integrity --allow-fs-read --allow-fs-write \
             --cpu-prof-dir --cpu-prof-interval --cpu-prof-name --heap-prof-dir \
             --heap-prof-interval --heap-prof-name --heapsnapshot-near-heap-limit \
             --heapsnapshot-signal --diagnostic-dir --disable-proto --disable-warning \
             --inspect-port --debug-port --inspect-publish-uid --localstorage-file \
             --network-family-autoselection-attempt-timeout --report-directory --report-dir \
             --report-filename --report-signal --run --secure-heap --secure-heap-min \
             --test-concurrency --test-coverage-branches --test-coverage-exclude \
             --test-coverage-functions --test-coverage-include --test-coverage-lines \
             --test-global-setup --test-isolation --test-name-pattern --test-reporter \
             --test-reporter-destination --test-rerun-failures --test-shard \
             --test-skip-pattern --test-timeout --tls-cipher-list --tls-keylog \
             --trace-event-categories --trace-event-file-pattern --trace-require-module \
             --use-largepages --v8-pool-size --watch-path --watch-kill-signal",
    plain: "c h v --check --build-snapshot --enable-source-maps --no-* --trace-warnings \
             --trace-deprecation --trace-uncaught --trace-exit --trace-sigint --trace-sync-io \
             --trace-tls --trace-promises --trace-atomics-wait --trace-env --throw-deprecation \
             --pending-deprecation --warnings --deprecation --expose-gc --abort-on-uncaught-exception \
             --allow-addons --allow-child-process --allow-wasi --allow-worker --permission \
             --experimental-permission --experimental-strip-types --experimental-transform-types \
             --experimental-vm-modules --experimental-modules --experimental-fetch \
             --experimental-sqlite --experimental-websocket --experimental-eventsource \
             --experimental-wasm-modules --experimental-require-module --experimental-webstorage \
             --experimental-import-meta-resolve --experimental-json-modules \
             --experimental-specifier-resolution --experimental-top-level-await \
             --experimental-worker --experimental-global-webcrypto --experimental-repl-await \
             --experimental-test-coverage --experimental-network-inspection \
             --experimental-detect-module --experimental-default-config-file \
             --experimental-print-required-tla --frozen-intrinsics --force-fips --enable-fips \
             --force-context-aware --insecure-http-parser --jitless --harmony* --interpreted-frames-native-stack \
             --disable-wasm-trap-handler --disallow-code-generation-from-strings \
             --inspect --inspect-brk --inspect-wait --cpu-prof --heap-prof --prof \
             --openssl-legacy-provider --openssl-shared-config --preserve-symlinks \
             --preserve-symlinks-main --report-compact --report-exclude-network \
             --report-exclude-env --report-on-fatalerror --report-on-signal \
             --report-uncaught-exception --tls-max-v1.2 --tls-max-v1.3 --tls-min-v1.0 \
             --tls-min-v1.1 --tls-min-v1.2 --tls-min-v1.3 --track-heap-objects --use-system-ca \
             --use-openssl-ca --use-bundled-ca --use-env-proxy --zero-fill-buffers --watch \
             --watch-preserve-output --test-force-exit --test-only \
             --enable-network-family-autoselection --node-memory-debug --help --version",
    scripts: SCRIPTS,
    reads_stdin: true,
    ..NONE
};

/// `npx` gives the next word to an unknown option, and accepts `--c` for `--call`.
const NPX: Family = Family {
    inline: "c --c --ca --call --shell-mode",
    named: "n --node-arg --node-options --shell --script-shell --userconfig --globalconfig",
    sources: "--registry --reg --cache --ca --cafile --cert --key --strict-ssl --browser --viewer \
             --editor --git --init-module --store-dir",
    packages: "p --package",
    projects: "C --prefix w --workspace --workspaces --ws",
    registry: Some(Registry::Npm),
    valued: "--ca --cafile --cert --key --noproxy --browser --viewer --editor --git --init-module \
             --logs-dir --store-dir p --package w --workspace --registry --cache --prefix --loglevel n --node-arg \
             --node-options --shell --script-shell --userconfig --globalconfig --tag --before \
             --scope --proxy --https-proxy C L m --location --message --reg --allow-scripts",
    plain: "y q s d f g a l v h j B D E O P S --yes --quiet --silent --no --no-install --verbose \
             --ignore-existing --no-audit --no-fund --bun --help --version --all \
             --allow-same-version --audit --bin-links --color --commit-hooks \
             --description --dev --dry-run --engine-strict --expect-results --force \
             --foreground-scripts --format-package-lock --fund --git-tag-version --global \
             --global-style --if-present --ignore-scripts --include-staged \
             --include-workspace-root --include-attestations --install-links --iwr --json \
             --legacy-bundling --legacy-peer-deps --link --local --long --offline --optional \
             --package-lock --package-lock-only --parseable --prefer-dedupe --prefer-offline \
             --prefer-online --production --progress --provenance --read-only --rebuild-bundle \
             --save --save-bundle --save-dev --save-exact --save-optional --save-peer --save-prod \
             --shrinkwrap --strict-peer-deps --timing --unicode --update-notifier \
             --usage --versions --workspaces --workspaces-update --ws",
    operand: Operand::Package,
    is_greedy: true,
    ..NONE
};

pub(super) const ROWS: &[Row] = &[
    ("node nodejs tsx ts-node iojs", NODE),
    (
        "nodemon",
        Family {
            // A shell runs the value.
            inline: "x --exec",
            valued: "w --watch e --ext i --ignore d --delay --signal --cwd --config r --require \
                     --import --loader --experimental-loader --env-file",
            reads_stdin: false,
            reads_on: true,
            ..NODE
        },
    ),
    (
        "bun",
        Family {
            inline: "e p --eval --print",
            named: "r --preload --require --import c --config --env-file",
            sources: "--registry --tsconfig-override --jsx-import-source --inspect --inspect-brk \
                     --inspect-wait",
            projects: "--cwd F --filter",
            registry: Some(Registry::Npm),
            fetches: "x create",
            valued: "r --preload --require --import --cwd --env-file --install --port u --origin \
                     --conditions --fetch-preconnect --max-http-header-size --dns-result-order \
                     --title --unhandled-rejections --console-depth --user-agent d --define --drop \
                     l --loader --main-fields --extension-order --tsconfig-override --jsx-factory \
                     --jsx-fragment --jsx-import-source --jsx-runtime --elide-lines F --filter \
                     --shell --registry",
            plain: "b i h v --bun --silent --watch --hot --smol --no-clear-screen --no-install \
                     --prefer-offline --prefer-latest --expose-gc --no-deprecation \
                     --throw-deprecation --zero-fill-buffers --no-addons --no-macros \
                     --preserve-symlinks --preserve-symlinks-main --if-present --revision --inspect \
                     --inspect-brk --inspect-wait --help --version",
            verbs: "exec repl",
            runs: "run x create",
            operand: Operand::Package,
            scripts: SCRIPTS,
            ..NONE
        },
    ),
    (
        "deno",
        Family {
            inline: "--eval",
            named: "--preload --require --import --import-map c --config --env-file --env",
            sources: "--cert --vendor --inspect --inspect-brk --inspect-wait",
            registry: Some(Registry::Deno),
            valued: "L --log-level c --config --import-map --lock --cert --seed --location --v8-flags \
                     --ext --preload --require --import --conditions --port --host \
                     --minimum-dependency-age",
            plain: "A N R W E S q r h V --allow-all --allow-net --allow-read --allow-write --allow-env \
                     --allow-run --allow-sys --allow-ffi --allow-import --allow-scripts --quiet \
                     --check --no-check --no-lock --env-file --env --frozen --cached-only --no-prompt \
                     --unstable* --no-config --no-npm --no-remote --no-code-cache --reload --watch \
                     --watch-hmr --node-modules-dir --vendor --inspect --inspect-brk --inspect-wait \
                     --help --version",
            verbs: "eval repl",
            runs: "run serve task x",
            operand: Operand::Package,
            scripts: SCRIPTS,
            reads_stdin: true,
            ..NONE
        },
    ),
    ("npx pnpx bunx", NPX),
    // In `npm exec`, `-p` takes no value.
    (
        "npm",
        Family {
            plain: "y q s p d f g a l v h j B D E O P S --yes --quiet --silent --no --prefer-offline \
                     --offline --ignore-scripts --no-audit --no-fund --workspaces",
            valued: "n --node-arg --shell --package w --workspace --registry --cache --prefix \
                     --loglevel C --userconfig --globalconfig --script-shell --node-options --tag \
                     --scope L m",
            packages: "--package",
            fetches: "exec x create init innit",
            // `npm explore` runs a shell command in the directory of a package.
            verbs: "explore",
            runs: "exec x run run-script create init innit",
            reads_on: true,
            ..NPX
        },
    ),
    (
        "pnpm",
        Family {
            named: "--node-options --shell --script-shell --userconfig --globalconfig --config",
            valued: "C --dir --cwd --filter F --package p --registry --loglevel --node-options \
                     --shell --script-shell --userconfig --globalconfig --config",
            packages: "--package",
            projects: "C --dir --cwd --prefix F --filter w --workspace-root",
            fetches: "dlx create x",
            runs: "exec dlx run create x",
            ..NPX
        },
    ),
    (
        "yarn yarnpkg",
        Family {
            named: "--node-options --shell --script-shell --use-yarnrc --rc",
            valued: "C --dir --cwd --package p --registry --node-options --shell --script-shell \
                     --use-yarnrc --rc --modules-folder --cache-folder --global-folder --mutex",
            projects: "C --dir --cwd --prefix",
            fetches: "dlx create",
            runs: "exec dlx run create workspace",
            // `yarn exec` passes its command to a shell.
            is_line: true,
            ..NPX
        },
    ),
    ("corepack", Family { operand: Operand::Package, registry: Some(Registry::Npm), ..NONE }),
];
