//! Programs that start commands in containers.

use super::table::NONE;
use super::{Family, Operand};

/// Groups of subcommands, which stand before a verb.
pub(in super::super) const CONTAINER_GROUPS: &str = "container compose";
/// Verbs after which a command follows.
pub(in super::super) const CONTAINER_VERBS: &str = "run exec create";
/// Options that replace the entry point of the image.
pub(in super::super) const CONTAINER_ENTRIES: [&str; 2] = ["--entrypoint", "--command"];

/// Lists every option that takes a value, because the image is the first operand.
pub(super) const CONTAINER: Family = Family {
    valued: "--entrypoint --command --context H --host l --log-level --config f --file --profile \
             --project-name --project-directory a --attach --add-host --annotation --blkio-weight c \
             --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile --cpu-period --cpu-quota \
             --cpu-shares --cpus --cpuset-cpus --cpuset-mems --detach-keys --device \
             --device-cgroup-rule --device-read-bps --device-write-bps --dns --dns-option \
             --dns-search --domainname e --env --env-file --expose --gpus --group-add --health-cmd \
             --health-interval --health-retries --health-timeout --hostname h --hostuser --ip --ip6 \
             --ipc --isolation --label --label-file --link --log-driver --log-opt m --memory \
             --memory-reservation --memory-swap --mac-address --mount --name --network --net \
             --network-alias --oom-score-adj p --publish --passwd-entry --pid --pids-limit \
             --platform --pod --pull --restart --runtime --secret --security-opt --shm-size \
             --stop-signal --stop-timeout --storage-opt --sysctl --timeout --tmpfs u --user --ulimit \
             --userns --uts v --volume --volume-driver --volumes-from w --workdir --arch --branch \
             --filesystem --socket --share",
    plain: "i t d q P T --interactive --tty --rm --init --privileged --detach --read-only --quiet \
             --publish-all --no-healthcheck --replace --tls --tlsverify --debug --no-deps \
             --no-TTY --service-ports --help --version",
    operand: Operand::Container,
    ..NONE
};
