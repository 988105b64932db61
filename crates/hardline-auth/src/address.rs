//! Restricts the addresses that a login may connect to.
//!
//! A server names its authorization server, which names its endpoints. A hostile server could thereby make
//! the client send requests into the local network. So this module resolves host names itself and checks
//! the addresses at the time of connecting:
//!
//! - The server's own host is always allowed: the client connects to it anyway.
//! - Public addresses are allowed.
//! - Loopback and private addresses are allowed only if the server's URL is of that kind itself.
//! - Link-local addresses, where cloud machines find their credentials, and all others are never allowed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The addresses that a login may connect to.
#[derive(Clone, Debug)]
pub(crate) struct AddressPolicy {
    /// Host in the server's URL.
    server: String,
    /// Hosts of the proxies that the environment names. The server cannot choose them.
    proxies: Vec<String>,
    allows_loopback: bool,
    allows_private: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    Public,
    Loopback,
    Private,
    Forbidden,
}

impl AddressPolicy {
    pub(crate) fn new(server: &Url, allows_private: bool) -> Self {
        let class = literal(server).map(class);
        let is_local = is_loopback(server);
        Self {
            server: host(server),
            proxies: proxies(),
            allows_loopback: is_local,
            // A server on this machine may well use an authorization server in the local network.
            allows_private: allows_private || is_local || class == Some(Class::Private),
        }
    }

    /// Returns true if the URL may be requested, as far as that is known before its host is resolved.
    pub(crate) fn allows(&self, url: &Url) -> bool {
        // A literal address is checked here, a name when it is resolved.
        host(url) == self.server || literal(url).is_none_or(|ip| self.allows_ip(ip))
    }

    fn allows_ip(&self, ip: IpAddr) -> bool {
        match class(ip) {
            Class::Public => true,
            Class::Loopback => self.allows_loopback,
            Class::Private => self.allows_private,
            Class::Forbidden => false,
        }
    }
}

impl Resolve for AddressPolicy {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.clone();
        Box::pin(async move {
            // A trailing dot names the same host, but would not compare equal.
            let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let is_exempt = host == policy.server || policy.proxies.contains(&host);
            // The check is on the resolved addresses, so a public name that points inside does not help.
            let found: Vec<SocketAddr> =
                found.filter(|it| is_exempt || policy.allows_ip(it.ip())).collect();
            if found.is_empty() {
                let reason = format!(
                    "{host} is an address inside this machine's own network, which a server elsewhere has no business to name"
                );
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Returns true if the text of the URL alone shows that it is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match literal(url) {
        Some(ip) => class(ip) == Class::Loopback,
        None => {
            let host = host(url);
            host == "localhost" || host.ends_with(".localhost")
        }
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase()
}

fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

fn class(ip: IpAddr) -> Class {
    match ip {
        IpAddr::V4(ip) => class_v4(ip),
        IpAddr::V6(ip) => match embedded(ip) {
            Some(inner) => class_v4(inner),
            None => class_v6(ip),
        },
    }
}

fn class_v4(ip: Ipv4Addr) -> Class {
    let [first, second, ..] = ip.octets();
    match (first, second) {
        (127, _) => Class::Loopback,
        (10, _) | (192, 168) | (172, 16..=31) | (100, 64..=127) => Class::Private,
        // This network, link-local, protocol assignments, benchmarking, multicast, reserved.
        (0, _) | (169, 254) | (198, 18..=19) | (224..=255, _) => Class::Forbidden,
        (192, 0) if ip.octets().get(2) == Some(&0) => Class::Forbidden,
        _ => Class::Public,
    }
}

fn class_v6(ip: Ipv6Addr) -> Class {
    let [first, ..] = ip.segments();
    match first {
        _ if ip.is_loopback() => Class::Loopback,
        _ if ip.is_unspecified() || ip.is_multicast() => Class::Forbidden,
        0xfc00..=0xfdff => Class::Private,
        // Link-local, and the deprecated site-local addresses.
        0xfe80..=0xfeff => Class::Forbidden,
        0x2000..=0x3fff => Class::Public,
        _ => Class::Forbidden,
    }
}

/// Returns the IPv4 address that an IPv6 address maps to: mapped, compatible, 6to4 or NAT64.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match ip.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(v4(high, low))
        }
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

fn proxies() -> Vec<String> {
    let named =
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let values = named.iter().filter_map(|name| std::env::var(name).ok());
    let with_scheme = values.map(|it| if it.contains("://") { it } else { format!("http://{it}") });
    with_scheme.filter_map(|it| Url::parse(&it).ok()).map(|url| host(&url)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: &str, target: &str, expected: bool) {
        let policy = AddressPolicy::new(&Url::parse(server).unwrap(), false);
        assert_eq!(
            policy.allows(&Url::parse(target).unwrap()),
            expected,
            "{server} names {target}"
        );
    }

    #[test]
    fn a_public_server_cannot_make_the_client_connect_to_the_local_network() {
        for target in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0.0.0.0/",
            "http://10.0.0.1/",
            "http://172.16.0.1/",
            "http://192.168.1.1/",
            "http://100.64.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[2002:7f00:1::]/",
            "http://[fe80::1]/",
            "http://[fd00:ec2::254]/",
            "http://255.255.255.255/",
        ] {
            check("https://mcp.example/", target, false);
        }
        check("https://mcp.example/", "https://93.184.216.34/", true);
        check("https://mcp.example/", "https://auth.example/", true);
        check("https://mcp.example/", "https://[2606:4700::1]/", true);
    }

    #[test]
    fn a_local_server_may_name_local_addresses_but_never_link_local_ones() {
        check("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/", true);
        check("http://localhost:1/mcp", "http://[::1]:2/", true);
        check("http://10.0.0.1/mcp", "http://10.0.0.2/", true);
        check("http://10.0.0.1/mcp", "http://127.0.0.1/", false);
        check("http://127.0.0.1/mcp", "http://169.254.169.254/", false);
        // The server's own host is always allowed.
        check("http://169.254.1.1/mcp", "http://169.254.1.1/x", true);
    }

    #[tokio::test]
    async fn a_name_is_checked_by_its_resolved_addresses() {
        let resolve = async |server: &str| {
            let policy = AddressPolicy::new(&Url::parse(server).unwrap(), false);
            policy.resolve("localhost".parse().unwrap()).await.map(Iterator::count)
        };
        let error = resolve("https://mcp.example/").await.unwrap_err().to_string();
        assert!(error.contains("localhost is an address inside"), "{error}");
        assert!(resolve("http://127.0.0.1/").await.unwrap() > 0);
    }
}
