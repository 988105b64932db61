//! Environment variables that make programs run other code.
//!
//! Some have no other use ([`injects_code`]). Others are needed by a program and also choose where
//! its code comes from ([`chooses_code`]): the home directory, the installation directory, the
//! configuration, certificates. Honest sessions have those too, so a server is started without them
//! instead of being refused.

use super::family::has;
use super::inspect::{CodeKind, inspect};

/// Variables that load code into every program, or into every program of one runtime.
const ALWAYS: &str = "BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND GCONV_PATH LOCPATH NODE_PATH \
    NODE_REPL_EXTERNAL_MODULE NODE_COMPILE_CACHE BUN_OPTIONS PERL5OPT PERL5LIB PERLLIB PERL5DB \
    RUBYOPT RUBYLIB PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONPLATLIBDIR \
    PYTHONBREAKPOINT PYTHONINSPECT PYTHONEXECUTABLE PYTHONPYCACHEPREFIX PYTHON_PRESITE \
    JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS OPENJ9_JAVA_OPTIONS IBM_JAVA_OPTIONS CLASSPATH \
    TS_NODE_REQUIRE NAPI_RS_NATIVE_LIBRARY_PATH MONO_ENV_OPTIONS DOTNET_STARTUP_HOOKS \
    DOTNET_ADDITIONAL_DEPS CORECLR_PROFILER_PATH COR_PROFILER_PATH \
    ASPNETCORE_HOSTINGSTARTUPASSEMBLIES SSH_SK_PROVIDER PHPRC PHP_INI_SCAN_DIR OPENSSL_CONF \
    OPENSSL_ENGINES OPENSSL_MODULES GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_EXEC_PATH \
    GIT_EXTERNAL_DIFF GIT_TEMPLATE_DIR R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER \
    JULIA_LOAD_PATH JULIA_DEPOT_PATH ERL_LIBS MAKEFLAGS MAKEFILES";

/// Prefixes of variables that configure loaders, interpreters and runners, and the code that those
/// run. Case is ignored.
const BEGINNINGS: &str = "ld_ dyld_ lua_init lua_path lua_cpath erl_flags erl_aflags erl_zflags \
    git_config npm_config_ uv_ pip_ bash_func_";

/// Variables, in lower case, that choose where programs find code: installation and home
/// directories, plug-ins, other programs, configurations that name commands, certificates that
/// downloads are checked with.
const CHOOSING: &str = "home shell tmpdir tmp temp terminfo terminfo_dirs termcap nlspath hostaliases \
    cdpath ifs manopt less lesskey lesskeyin \
    lesskeyin_system ssl_cert_file ssl_cert_dir sslkeylogfile requests_ca_bundle \
    curl_ca_bundle curl_home wgetrc \
    gopath goroot gobin goenv goproxy gosumdb gonosumdb goflags goinsecure gotoolchain gomodcache \
    gocache gowork goprivate r_home r_libs r_libs_user r_libs_site stack_root stack_yaml gem_home \
    gem_path gem_spec_cache mix_home mix_archives hex_home docker_host docker_config docker_context \
    docker_cert_path docker_tls_verify docker_cli_plugin_extra_dirs container_host buildkit_host \
    kubeconfig zdotdir fpath fish_function_path bash_loadables_path nu_lib_dirs awkpath awklibpath \
    psmodulepath jsr_url n_prefix tsx_tsconfig_path swcrc matplotlibrc mplconfigdir pltcollects \
    pltaddondir tcllibpath tcl_library tk_library caml_ld_library_path ocamlpath ocamlfind_conf \
    opamroot sbcl_home octave_path matlabpath emacsdata krb5_config sasl_path \
    magick_configure_path magick_coder_module_path magick_filter_module_path gs_lib \
    vk_layer_path vk_add_layer_path vk_icd_filenames vk_driver_files libgl_drivers_path \
    gbm_backends_path libva_drivers_path vdpau_driver_path ocl_icd_vendors alsa_config_path \
    odbcini odbcinstini odbcsysini azure_extension_dir tf_plugin_cache_dir tf_data_dir krew_root \
    aws_config_file aws_shared_credentials_file tf_cli_config_file \
    terraform_config helm_plugins ansible_config ansible_library psqlrc virtual_env java_home jre_home \
    m2_home emacsloadpath viminit exinit vimruntime chrome_path chrome_bin \
    playwright_browsers_path glibc_tunables prefix destdir cc cxx ldshared gcc_exec_prefix compiler_path \
    coverage_process_start cuda_injection32_path cuda_injection64_path libmysql_plugin_dir tar_options \
    rsync_rsh pgservicefile pgsysconfdir gdal_driver_path gdal_python_driver_path dotenv_config_path";

/// Prefixes, in lower case, of variables that belong to a runtime or to a package manager.
const CHOOSING_BEGINNINGS: &str = "xdg_ node_ npm_ pnpm_ yarn_ corepack_ bun_ deno_ volta_ nvm_ fnm_ \
    python pyenv_ conda_ mamba_ pipx_ poetry_ pdm_ pipenv_ rye_ ruby rbenv_ rvm_ bundle_ bundler_ perl \
    php_ composer_ java_ jdk_ maven_ mvn_ gradle_ kotlin_ sbt_ dotnet_ coreclr_ cor_ complus_ nuget_ \
    msbuild cargo_ rustup_ rustc rustflags lua_ erl_ elixir_ julia_ ghc_ cabal_ nix_ guix_ asdf_ \
    mise_ sdkman_ direnv_ ld_ dyld_ gtk_ gdk_ gio_ gst_ gi_ qt_ qml openssl_ git_config git_ssh git_ssl \
    git_curl git_http git_trace tf_cli_args electron_ containers_ ts_node_ nodenv_ esbuild_ guile_ \
    cloudsdk_python mono_ nerdctl_ colima_ lima_ graalpython jbang_ coursier_ lein_ opam";

/// Other variables of Git, in lower case. They are listed one by one, because servers have own
/// settings that start with `GIT_`.
const GIT: &str = "git_dir git_common_dir git_work_tree git_index_file git_object_directory \
    git_alternate_object_directories git_namespace git_attr_source \
    git_ceiling_directories git_diff_opts git_merge_autoedit git_protocol git_allow_protocol \
    git_discovery_across_filesystem";

/// Suffixes, in lower case, of variables that name a program or a file that it loads.
const CHOOSING_ENDINGS: &str = "_executable_path _executable _exec_path _preload _launch_options \
    _wrapper _plugin_path _binary_path _native_library_path";

/// Exceptions to the lists above, in lower case: variables that choose no code.
const HARMLESS: &str = "xdg_session_type xdg_session_class xdg_session_id xdg_session_desktop \
    xdg_current_desktop xdg_seat xdg_vtnr xdg_menu_prefix node_env \
    node_debug node_debug_native node_no_warnings node_pending_deprecation node_disable_colors node_options \
    node_use_env_proxy node_use_system_ca pythonunbuffered pythonioencoding pythonutf8 \
    pythondontwritebytecode pythonhashseed pythonwarnings pythonnousersite pythonsafepath pythonoptimize \
    pythonverbose pythonfaulthandler pythontracemalloc pythonasynciodebug pythonmalloc \
    pythoncoerceclocale pythondevmode pythonlegacywindowsstdio pythonprofileimporttime python_colors \
    python_gil python_cpu_count deno_no_update_check deno_no_prompt deno_jobs dotnet_environment \
    dotnet_nologo dotnet_cli_telemetry_optout dotnet_running_in_container rustc_log qt_qpa_platform \
    qt_scale_factor gtk_theme gdk_backend gdk_scale pip_default_timeout pip_timeout pip_retries \
    pip_no_input pip_disable_pip_version_check pip_no_color pip_progress_bar pip_quiet pip_verbose \
    uv_http_timeout uv_http_retries uv_no_progress uv_concurrent_downloads uv_concurrent_builds \
    uv_concurrent_installs npm_config_loglevel npm_config_fund npm_config_audit npm_config_progress \
    npm_config_color npm_config_update_notifier";

/// Suffixes, in lower case, of variables that hold secrets, which are data.
const SECRETS: [&str; 5] = ["_token", "_api_key", "_secret", "_password", "_access_key"];

/// Directories that only the owner of the system writes to. Files there are as trustworthy as the
/// programs there.
const SYSTEM: &str = "/etc /usr /bin /sbin /lib /lib64 /nix/store /opt/homebrew /System /snap";
/// Variables, in lower case, whose value is a command. A path of the system does not make it safe:
/// with the right arguments, a system program can do anything.
const COMMANDS: &str = "editor visual pager browser manpager lessopen lessclose sudo_editor \
    kubectl_external_diff git_editor git_sequence_editor git_pager git_askpass ssh_askpass sudo_askpass";
/// Prefixes, in lower case, of settings of package managers. Such a setting is harmless if it is a
/// path of the system.
const MANAGERS: [&str; 3] = ["npm_config_", "uv_", "pip_"];

/// Directories for temporary files that the system itself names. Any user may own a directory below
/// others.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/private/tmp"];
/// Prefix of such directories on macOS, where only the system creates them.
const TEMPORARY_BEGINNING: &str = "/var/folders/";

/// Parts of Node.js options that load code. `-r` does so too.
const NODE: [&str; 6] = ["--require", "--import", "loader", "--eval", "--env-file", "-config"];

/// Returns true if `name` can be the name of a variable, or a pattern for names.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Returns true if a variable with this value makes programs run code that their command line does
/// not name.
pub fn injects_code(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    let lower = name.to_lowercase();
    if lower == "node_options" {
        // Node.js removes quotes and backslashes, and treats `_` as `-`.
        let value = value.replace('_', "-").replace(['"', '\'', '\\'], "");
        let loads = |word: &str| word.starts_with("-r") || NODE.iter().any(|it| word.contains(it));
        return value.split_whitespace().any(loads) || is_code_to_node(&value);
    }
    // Shells read the file that it names; other programs use it for anything, such as `production`.
    if name == "ENV" {
        return value.contains(['/', '$', '`', '.']);
    }
    // Python imports the module of a warning category with a dot.
    if name == "PYTHONWARNINGS" {
        return value.contains('.');
    }
    let is_manager = MANAGERS.iter().any(|it| lower.starts_with(it));
    let is_setting = is_manager && (is_system(value) || has(HARMLESS, &lower));
    let is_listed = BEGINNINGS.split_whitespace().any(|it| lower.starts_with(it));
    has(ALWAYS, name) || is_listed && !is_setting
}

/// Returns true if the value consists of paths in system directories only.
fn is_system(value: &str) -> bool {
    let is_inside = |path: &str, directory: &str| {
        path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // `/usr/../tmp` is outside, and a blank may start a second value.
    let is_plain = |path: &str| !path.contains("..") && !path.contains(char::is_whitespace);
    value.split(':').all(|path| is_plain(path) && SYSTEM.split(' ').any(|it| is_inside(path, it)))
}

/// Returns true if a variable with this value chooses where programs find the code that they run or
/// load. A server with a list of programs is started without it.
pub fn chooses_code(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    let name = name.to_lowercase();
    if matches!(&*name, "tmpdir" | "tmp" | "temp") {
        let place = value.trim_end_matches('/');
        let is_inside = place.starts_with(TEMPORARY_BEGINNING) && !place.contains("..");
        return !TEMPORARY.contains(&place) && !is_inside;
    }
    // The directory that systemd creates for the user.
    let is_own_run = |id: &str| !id.is_empty() && id.bytes().all(|it| it.is_ascii_digit());
    if name == "xdg_runtime_dir" && value.strip_prefix("/run/user/").is_some_and(is_own_run) {
        return false;
    }
    // Matplotlib imports the module; other values are names of its own backends.
    if name == "mplbackend" {
        return value.to_lowercase().contains("module:");
    }
    // A secret may have the prefix of a package manager: `NPM_TOKEN`.
    if has(HARMLESS, &name) || SECRETS.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    if has(COMMANDS, &name) || CHOOSING_ENDINGS.split_whitespace().any(|end| name.ends_with(end)) {
        return true;
    }
    // A path of the system is harmless: only its owner writes there.
    let is_known = has(CHOOSING, &name)
        || has(GIT, &name)
        || CHOOSING_BEGINNINGS.split_whitespace().any(|begin| name.starts_with(begin));
    is_known && !is_system(value)
}

/// Returns true if an option in `NODE_OPTIONS` loads code, or lets a debugger do so.
fn is_code_to_node(options: &str) -> bool {
    // The script is a dummy: without one, Node.js would read code from standard input.
    let words = ["node"].into_iter().chain(options.split_whitespace()).chain(["x.js"]);
    let command: Vec<String> = words.map(str::to_owned).collect();
    inspect(&command).code.iter().any(|code| code.kind != CodeKind::Doubtful)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloaded_code_is_seen() {
        for (name, value) in [
            ("LD_PRELOAD", "/tmp/x.so"),
            ("NODE_OPTIONS", "--max-old-space-size=4096 --require=/tmp/x.js"),
            ("NODE_OPTIONS", "\"--require\" x.js"),
            ("NODE_OPTIONS", "--experimental_loader x"),
            ("PYTHONPATH", "/tmp"),
            ("npm_config_script_shell", "/tmp/x"),
            ("NPM_CONFIG_CALL", "id"),
            ("GCONV_PATH", "/tmp"),
            ("SHELLOPTS", "xtrace"),
            ("GIT_SSH_COMMAND", "id"),
            ("GIT_CONFIG_COUNT", "1"),
            ("DYLD_INSERT_LIBRARIES", "x"),
            ("LUA_INIT_5_4", "x"),
            ("NODE_OPTIONS", "--no-warnings -r x.js"),
            ("NODE_OPTIONS", "-r=x.js"),
            ("ENV", "$HOME/.shrc"),
            ("NODE_OPTIONS", "--inspect=0.0.0.0:9229"),
            ("NODE_OPTIONS", "\"--requir\\e\" x.js"),
            ("NODE_OPTIONS", "--max-old-space-size=64 --snapshot-blob=/tmp/x"),
            ("PYTHONPYCACHEPREFIX", "/tmp"),
            ("NODE_COMPILE_CACHE", "/tmp"),
            ("TS_NODE_REQUIRE", "/tmp/x.js"),
            ("OPENJ9_JAVA_OPTIONS", "-javaagent:/tmp/x.jar"),
            ("IBM_JAVA_OPTIONS", "-javaagent:/tmp/x.jar"),
            ("NAPI_RS_NATIVE_LIBRARY_PATH", "/tmp/x.node"),
            ("PIP_INDEX_URL", "http://x.example"),
            ("PIP_TARGET", "/tmp/x"),
        ] {
            assert!(injects_code(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("LD_PRELOAD", ""),
            ("PATH", "/tmp"),
            ("PYTHONWARNINGS", "ignore"),
            ("GITHUB_TOKEN", "x"),
            ("NODE_OPTIONS", "--dns-result-order=ipv4first --unhandled-rejections=strict"),
            ("ENV", "production"),
            ("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt"),
            ("npm_config_prefix", "/usr/local"),
            ("PIP_DEFAULT_TIMEOUT", "60"),
            ("PIP_RETRIES", "3"),
            ("PIP_NO_INPUT", "1"),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
            ("PIP_NO_COLOR", "1"),
            ("PIP_PROGRESS_BAR", "off"),
            ("PIP_QUIET", "1"),
            ("PIP_VERBOSE", "1"),
            ("UV_HTTP_TIMEOUT", "60"),
            ("npm_config_loglevel", "error"),
        ] {
            assert!(!injects_code(name, value), "{name}={value}");
        }
    }

    #[test]
    fn variables_that_choose_code_are_known() {
        for (name, value) in [
            ("HOME", "/tmp/x"),
            ("SHELL", "/tmp/x"),
            ("XDG_CONFIG_HOME", "/tmp/x"),
            ("XDG_DATA_DIRS", "/tmp/x"),
            ("XDG_RUNTIME_DIR", "/run/user/../../tmp/x"),
            ("XDG_CACHE_HOME", "/tmp/x"),
            ("TMPDIR", "/home/me/repo/tmp"),
            ("TMPDIR", "/tmp/x"),
            ("TMPDIR", "/var/folders/../../tmp/x"),
            ("NODE_EXTRA_CA_CERTS", "x.pem"),
            ("NODE_CONFIG_DIR", "/tmp/x"),
            ("npm_execpath", "/tmp/x"),
            ("YARN_RC_FILENAME", "x"),
            ("PYTHON_SOMETHING_NEW", "/tmp/x"),
            ("VIRTUAL_ENV", "/tmp/x"),
            ("DENO_DIR", "/tmp/x"),
            ("GEM_HOME", "/tmp/x"),
            ("GOPROXY", "http://x.example"),
            ("JAVA_HOME", "/tmp/x"),
            ("CARGO_HOME", "/tmp/x"),
            ("GIT_DIR", "/tmp/x"),
            ("GIT_ASKPASS", "/tmp/x"),
            ("DOCKER_HOST", "tcp://x.example"),
            ("LESSOPEN", "|/tmp/x %s"),
            ("EDITOR", "/tmp/x"),
            ("PUPPETEER_EXECUTABLE_PATH", "/tmp/x"),
            ("AWS_CONFIG_FILE", "/tmp/x"),
            ("DOTNET_ROOT", "/tmp/x"),
            ("NODE_EXTRA_CA_CERTS", "/etc/../tmp/x"),
            ("NODE_EXTRA_CA_CERTS", "/etcetera/x"),
            ("XDG_DATA_DIRS", "/usr/share:/tmp/x"),
            ("EDITOR", "/usr/bin/python3"),
            ("GIT_ASKPASS", "/usr/bin/x"),
            ("JSR_URL", "http://x.example"),
            ("CONTAINERS_CONF", "/tmp/x"),
            ("CONTAINERS_CONF_OVERRIDE", "/tmp/x"),
            ("CONTAINERS_REGISTRIES_CONF", "/tmp/x"),
            ("ZDOTDIR", "/tmp/x"),
            ("FPATH", "/tmp/x"),
            ("TS_NODE_PROJECT", "/tmp/x"),
            ("TS_NODE_COMPILER", "/tmp/x"),
            ("ESBUILD_BINARY_PATH", "/tmp/x"),
            ("SWC_BINARY_PATH", "/tmp/x"),
            ("DOCKER_CLI_PLUGIN_EXTRA_DIRS", "/tmp/x"),
            ("PSModulePath", "/tmp/x"),
            ("GUILE_LOAD_PATH", "/tmp/x"),
            ("CLOUDSDK_PYTHON", "/tmp/x"),
            ("MPLBACKEND", "module://evil"),
            ("MONO_PATH", "/tmp/x"),
            ("VK_LAYER_PATH", "/tmp/x"),
            // npm reads `etc/npmrc` there, which may name another shell.
            ("PREFIX", "/tmp/x"),
            ("DESTDIR", "/tmp/x"),
            ("CUDA_INJECTION64_PATH", "/tmp/x.so"),
            ("TAR_OPTIONS", "--to-command=/tmp/x"),
        ] {
            assert!(chooses_code(name, value), "{name}={value}");
        }
    }

    #[test]
    fn settings_choose_no_code() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("GITHUB_PERSONAL_ACCESS_TOKEN", "x"),
            ("BRAVE_API_KEY", "x"),
            ("NPM_TOKEN", "x"),
            ("DENO_DEPLOY_TOKEN", "x"),
            ("MEMORY_FILE_PATH", "/home/me/memory.json"),
            ("DATABASE_URL", "postgres://x"),
            ("GOOGLE_API_KEY", "x"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/x.json"),
            ("GIT_REPO_PATH", "/srv/x"),
            ("GIT_AUTHOR_NAME", "x"),
            ("MAKE_API_KEY", "x"),
            ("STACK_OVERFLOW_KEY", "x"),
            ("R_AND_D", "x"),
            ("NODE_ENV", "production"),
            ("NODE_OPTIONS", "--max-old-space-size=64"),
            ("PYTHONUNBUFFERED", "1"),
            ("PYTHONIOENCODING", "utf-8"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("TERM", "xterm"),
            ("USER", "me"),
            ("PATH", "/bin"),
            ("TMPDIR", "/tmp"),
            ("TMPDIR", "/var/folders/ab/cd/T/"),
            ("XDG_SESSION_TYPE", "x11"),
            ("XDG_RUNTIME_DIR", "/run/user/1000"),
            ("HTTPS_PROXY", "http://proxy.example"),
            ("SSH_AUTH_SOCK", "/tmp/x"),
            ("SSH_HOST", "x"),
            ("LOG_LEVEL", "debug"),
            ("DEBUG", "*"),
            ("PORT", "1"),
            ("HOME", ""),
            ("NODE_EXTRA_CA_CERTS", "/etc/ssl/certs/ca-certificates.crt"),
            ("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
            ("XDG_CONFIG_DIRS", "/etc/xdg"),
            ("JAVA_HOME", "/usr/lib/jvm/default"),
            ("GOROOT", "/usr/local/go"),
            ("MPLBACKEND", "Agg"),
            ("PIP_DEFAULT_TIMEOUT", "60"),
            ("npm_config_loglevel", "error"),
        ] {
            assert!(!chooses_code(name, value), "{name}={value}");
        }
    }
}
