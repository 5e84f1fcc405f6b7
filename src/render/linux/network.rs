//! The bodies of the steps for a Linux node's DNS servers and its proxy.

use std::net::IpAddr;

use serde::Serialize;

use crate::config::model::Proxy;
use crate::error::{Failure, Kind, Result};
use crate::render::render;

/// Sets the node's DNS servers; without any, takes back what an earlier run has set.
pub fn dns(servers: &[IpAddr]) -> Result<String> {
    #[derive(Serialize)]
    struct View {
        servers: Vec<String>,
    }
    let servers = servers.iter().map(ToString::to_string).collect();
    render("templates/linux/dns.sh.tera", &View { servers })
}

/// Tells containerd, the kubelet and apt of the proxy; without one, takes back what an earlier run has
/// told. The URLs are given to the script as the secrets `proxy_http` and `proxy_https`; `no_proxy` is all
/// that is reached directly.
///
/// # Errors
/// `Configuration` for a value that the files that hold it cannot carry.
pub fn proxy(proxy: &Proxy, no_proxy: &[String]) -> Result<String> {
    #[derive(Serialize)]
    struct View {
        urls: Vec<&'static str>,
        no_proxy: String,
    }
    let mut urls = Vec::new();
    for (name, url) in [("http", &proxy.http), ("https", &proxy.https)] {
        if let Some(url) = url {
            check_is_plain(name, url)?;
            urls.push(name);
        }
    }
    for host in no_proxy {
        check_is_plain("no_proxy", host)?;
    }
    let view = View {
        urls,
        no_proxy: no_proxy.join(","),
    };
    render("templates/linux/proxy.sh.tera", &view)
}

/// The files of systemd, apt and the shell quote in ways of their own; a URL needs none of what they quote.
fn check_is_plain(name: &str, value: &str) -> Result<()> {
    let special = |c: char| c.is_whitespace() || c.is_control() || "'\"\\`$;".contains(c);
    if !value.chars().any(special) {
        return Ok(());
    }
    let message = format!("`network.proxy.{name}` holds a character that a URL cannot have");
    Err(Box::new(
        Failure::new(Kind::Configuration, message)
            .because("white space, quotes, `$`, `;` and backslashes have a meaning in the files that hold it")
            .advise("write such characters of a user name or password with `%` and two digits: `%27` for `'`, `%24` for `$`")
            .permanent(),
    ))
}
