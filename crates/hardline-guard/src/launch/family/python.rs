//! Python and its package runners.

use super::table::{NONE, Row};
use super::{Family, Operand, Registry};

const UV: Family = Family {
    named: "m --module --env-file p --python --config-file --script s",
    sources: "--index --index-url i --default-index --extra-index-url f --find-links --cache-dir \
             --allow-insecure-host --keyring-provider --index-strategy --pip-args --torch-backend",
    packages: "--from w --with --spec",
    projects: "--with-editable --with-requirements --directory --project --package c --constraints \
             --overrides b --build-constraints",
    valued: "p --python --from w --with --with-editable --with-requirements --index --index-url i \
             --default-index --extra-index-url f --find-links --directory --project --package \
             --extra --group --only-group --no-group --no-extra --spec --pip-args --name --env-file \
             --cache-dir --index-strategy --keyring-provider --resolution --prerelease \
             --exclude-newer --link-mode --color --config-file c --constraints --overrides b \
             --build-constraints P --upgrade-package --refresh-package --reinstall-package \
             --no-binary-package --no-build-package --no-build-isolation-package \
             --python-platform --allow-insecure-host --suffix --backend --config-setting C \
             --fork-strategy --preview-features --torch-backend",
    plain: "m s q v n U --module --script --quiet --verbose --isolated --offline --no-cache --refresh \
             --native-tls --no-config --no-project --frozen --locked --no-sync --all-extras \
             --all-groups --all-packages --dev --no-dev --only-dev --no-default-groups --active \
             --exact --upgrade --reinstall --no-progress --managed-python --no-managed-python \
             --no-env-file --no-binary --no-build --no-index --no-sources --no-editable \
             --no-python-downloads --no-build-isolation --compile-bytecode --preview --gui-script \
             --system-site-packages --fetch-missing-python --help --version",
    runs: "run tool x exec script task",
    operand: Operand::Package,
    scripts: "py pyw pyz",
    ..NONE
};

pub(super) const ROWS: &[Row] = &[
    (
        "python pypy pythonw py ipython micropython",
        Family {
            inline: "c i",
            named: "m",
            // Words after the module are its arguments.
            ends: "m",
            valued: "m W X Q --check-hash-based-pycs",
            // A warning category may be a class in a module, which Python then imports.
            loads: "X=pycache_prefix X=presite W=.",
            plain: "b B d E h I O P q s S t u v V x R 0 1 2 3 4 5 6 7 8 9 . ? --help --version \
                     --help-env --help-xoptions --help-all",
            scripts: "py pyw pyc pyz",
            reads_stdin: true,
            ..NONE
        },
    ),
    ("uvx", Family { registry: Some(Registry::Python), ..UV }),
    ("uv", Family { registry: Some(Registry::Python), fetches: "tool", ..UV }),
    ("pipx", Family { registry: Some(Registry::Python), fetches: "run", ..UV }),
    ("pdm rye pipenv", UV),
    (
        "poetry",
        Family {
            valued: "C --directory P --project",
            plain: "q v n --quiet --verbose --ansi --no-ansi --no-interaction --no-plugins --no-cache \
                     --help --version",
            ..UV
        },
    ),
    (
        "conda mamba micromamba",
        Family {
            named: "p --prefix",
            valued: "n --name p --prefix --cwd e --env a --attach r --root-prefix",
            plain: "v q --verbose --quiet --no-capture-output --live-stream --dev \
                     --debug-wrapper-scripts --clean-env --help --version",
            ..UV
        },
    ),
    // A shell parses the command of these.
    ("hatch pixi devbox", Family { is_line: true, ..UV }),
];
