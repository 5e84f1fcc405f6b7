//! What can be wrong with a download, in words. No URL is shown with its password.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use indicatif::BinaryBytes;
use reqwest::StatusCode;

use super::web::Address;
use crate::config::redact_url;
use crate::error::{Failure, Kind, io_failure};

/// The variables that name a proxy, or what is reached without one.
const PROXY_VARIABLES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// What went wrong with one attempt.
#[derive(Debug)]
pub enum Trouble {
    /// The same again would fail again.
    Final(Box<Failure>),
    /// It is worth another attempt, not before the time that the server named.
    Again(Box<Failure>, Option<Duration>),
}

impl Trouble {
    /// For what may be better in a moment.
    pub fn again(failure: Failure) -> Self {
        Self::Again(Box::new(failure), None)
    }

    /// For what stays as it is.
    pub fn last(failure: Failure) -> Self {
        Self::Final(Box::new(failure.permanent()))
    }
}

/// For what the host itself refuses, such as a file that cannot be written.
impl From<Box<Failure>> for Trouble {
    fn from(failure: Box<Failure>) -> Self {
        Self::Final(failure)
    }
}

/// The beginning of every failure: what, and from where.
pub fn failed(name: &str, from: &Address) -> Failure {
    Failure::new(Kind::Host, format!("cannot fetch {name} from `{from}`"))
}

/// Nothing came for too long.
pub fn stalled(name: &str, from: &Address, after: Duration) -> Trouble {
    Trouble::again(
        failed(name, from)
            .because(format!("nothing came for {} s", after.as_secs()))
            .advise("check the network, then run the same again: it goes on where it stopped"),
    )
}

/// A request that brought no answer, or an answer that broke off.
pub fn of_request(name: &str, from: &Address, error: &reqwest::Error) -> Trouble {
    let causes = causes(error);
    let said = causes.join(": ").to_lowercase();
    let mut failure = failed(name, from);
    for cause in &causes {
        failure = failure.because(cause);
    }
    if said.contains("proxy authorization required")
        || said.contains("proxy authentication required")
    {
        return proxy_asks(failure);
    }
    if said.contains("certificate") {
        return Trouble::last(failure.advise(
            "if your network has a certificate authority of its own, add it to the system's, or name \
             a file with it in `SSL_CERT_FILE` (Linux)",
        ));
    }
    if error.is_redirect() || error.is_builder() {
        return Trouble::last(failure.advise(
            "check that nothing between here and the site, such as a proxy or the mirror, sends downloads \
             elsewhere",
        ));
    }
    for proxy in proxies() {
        failure = failure.because(proxy);
    }
    Trouble::again(if error.is_connect() {
        failure
            .advise("check the network, and the proxy if you need one (`HTTPS_PROXY`, `NO_PROXY`)")
    } else {
        failure.advise("check the network, then run the same again: it goes on where it stopped")
    })
}

/// An answer that is none. `after` is what its `Retry-After` says.
pub fn of_status(
    name: &str,
    from: &Address,
    status: StatusCode,
    after: Option<Duration>,
) -> Trouble {
    let failure = failed(name, from).because(format!("the server answered `{status}`"));
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Trouble::last(if from.mirrored() {
            failure.advise(format!(
                "add it to the mirror that `artifacts.mirror` names; it is a copy of `{}`",
                from.origin()
            ))
        } else {
            failure.advise("check that this version exists and is published for this platform")
        }),
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => proxy_asks(failure),
        StatusCode::NETWORK_AUTHENTICATION_REQUIRED => sign_in(failure),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Trouble::last(if from.mirrored() {
            failure.advise("check the name and password in `artifacts.mirror`")
        } else {
            failure.advise("check that the URL is right, and that no proxy or firewall forbids it")
        }),
        StatusCode::TOO_MANY_REQUESTS => Trouble::Again(
            Box::new(failure.advise("wait a while, or use a mirror (`artifacts.mirror`)")),
            after,
        ),
        StatusCode::REQUEST_TIMEOUT => Trouble::again(failure),
        status if status.is_server_error() => Trouble::Again(
            Box::new(failure.advise("try again later, or use a mirror (`artifacts.mirror`)")),
            after,
        ),
        _ => Trouble::last(failure.advise(
            "check that the URL is right, and what stands between here and the site: proxy, firewall, mirror",
        )),
    }
}

/// The server wants to be left alone for longer than we wait.
pub fn too_patient(failure: Failure, after: Duration, patience: Duration) -> Failure {
    failure
        .because(format!(
            "it asks to be left alone for {} s, and wdev waits {} s at most",
            after.as_secs(),
            patience.as_secs()
        ))
        .permanent()
}

/// A web page came where a file was wanted. `answered` is the URL that it came from in the end.
pub fn portal(name: &str, from: &Address, answered: &str) -> Trouble {
    let mut failure = failed(name, from).because("a web page came instead of the file");
    let answered = redact_url(answered);
    if answered != from.to_string() {
        failure = failure.because(format!("from `{answered}`"));
    }
    sign_in(failure)
}

fn sign_in(failure: Failure) -> Trouble {
    Trouble::last(failure.advise(
        "if this network wants you to sign in, open a browser and do so; otherwise check the proxy and \
         the mirror",
    ))
}

fn proxy_asks(failure: Failure) -> Trouble {
    let mut failure = failure.because("the proxy asks for a name and password");
    for proxy in proxies() {
        failure = failure.because(proxy);
    }
    Trouble::last(failure.advise(
        "put them into the proxy's URL: `HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT`, and the same for \
         `HTTP_PROXY`",
    ))
}

/// The file is not the one that was wanted.
pub fn wrong_hash(name: &str, from: &Address, wanted: &str, got: &str, bytes: u64) -> Failure {
    failed(name, from)
        .because(format!(
            "its SHA-256 is `{got}`, not `{wanted}` ({bytes} bytes came)"
        ))
        .advise(
            "something between here and the project changes the file, or the hash in `wdev.lock` is of \
             another one: compare it with the project's checksum file",
        )
        .permanent()
}

/// The answer broke off after `got` of `of` bytes.
pub fn cut(
    name: &str,
    from: &Address,
    (got, of): (u64, Option<u64>),
    error: &reqwest::Error,
) -> Trouble {
    let came = match of {
        Some(of) => format!("the connection was cut after {got} of {of} bytes"),
        None => format!("the connection was cut after {got} bytes"),
    };
    Trouble::again(
        failed(name, from)
            .because(came)
            .because(causes(error).join(": "))
            .advise("check the network, then run the same again: it goes on where it stopped"),
    )
}

/// Less came than was announced.
pub fn truncated(name: &str, from: &Address, got: u64, of: u64) -> Trouble {
    Trouble::again(
        failed(name, from)
            .because(format!("only {got} of {of} bytes came"))
            .advise("check the network, then run the same again: it goes on where it stopped"),
    )
}

/// Something cannot be written into the cache.
pub fn unwritable(path: &Path, error: &std::io::Error, total: Option<u64>) -> Box<Failure> {
    let failure = io_failure("write", path, error);
    match total {
        Some(total) if error.kind() == std::io::ErrorKind::StorageFull => Box::new(
            failure
                .because(format!("the file takes {}", BinaryBytes(total)))
                .advise(
                    "`wdev cache prune --all` empties the cache; `WDEV_HOME` moves it to another disk",
                )
                .permanent(),
        ),
        _ => Box::new(failure.permanent()),
    }
}

/// `offline` is set, and these are not in the cache.
pub fn offline(missing: &[String]) -> Box<Failure> {
    let mut failure = Failure::new(
        Kind::Host,
        "not everything is in the cache, and `artifacts.offline` allows nothing else",
    );
    for what in missing {
        failure = failure.because(format!("missing: {what}"));
    }
    Box::new(
        failure
            .advise("with a network, run `wdev fetch --set artifacts.offline=false`: it fills the cache")
            .permanent(),
    )
}

/// The user stopped it.
pub fn interrupted(name: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Interrupted,
            format!("interrupted while fetching {name}"),
        )
        .permanent(),
    )
}

/// What an error says, outermost first, without the URL and without repetitions.
fn causes(error: &reqwest::Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(one) = next {
        let text = one.to_string();
        if !causes.iter().any(|cause| cause.contains(&text)) {
            causes.push(text);
        }
        next = one.source();
    }
    if causes.is_empty() {
        causes.push("the request failed".to_owned());
    }
    causes
}

/// What the environment says of proxies, for whoever wonders why a connection fails.
fn proxies() -> Vec<String> {
    let set = PROXY_VARIABLES.iter().filter_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(format!("`{name}` is `{}`", redact_url(&value)))
    });
    set.collect()
}
