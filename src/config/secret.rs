//! Passwords in URLs: shown nowhere.

use std::borrow::Cow;

/// What stands for a password.
const MASK: &str = "***";

/// `url` with `***` for the password before its `@`, if it has one. A single word before `@` is
/// taken for a token and hidden as well.
#[must_use]
pub fn redact_url(url: &str) -> Cow<'_, str> {
    let Some((start, end)) = credentials(url) else {
        return Cow::Borrowed(url);
    };
    let (Some(before), Some(inner), Some(after)) =
        (url.get(..start), url.get(start..end), url.get(end..))
    else {
        return Cow::Borrowed(url);
    };
    match inner.split_once(':') {
        Some((user, _)) => Cow::Owned(format!("{before}{user}:{MASK}{after}")),
        None => Cow::Owned(format!("{before}{MASK}{after}")),
    }
}

/// The bytes between `://` and the last `@` before the path.
fn credentials(url: &str) -> Option<(usize, usize)> {
    let start = url.find("://")? + 3;
    let rest = url.get(start..)?;
    // A password may hold `/` unescaped by mistake: the last `@` decides.
    let end = rest.rfind('@')?;
    Some((start, start + end))
}

/// `line` with every password in a URL replaced by as many `*`, so that columns stay right.
///
/// A `cut` line begins in the middle of another: then everything before the `@` may be a password.
pub(crate) fn mask_line(line: &str, cut: bool) -> String {
    // Without `://` the part before `@` may still be credentials: a proxy written without scheme.
    let Some(at) = line.rfind('@') else {
        return line.to_owned();
    };
    let Some(front) = line.get(..at) else {
        return line.to_owned();
    };
    let rest = line.get(at..).unwrap_or_default();
    let start = if let Some(scheme) = front.find("://") {
        let user = front.get(scheme + 3..).unwrap_or_default();
        scheme + 3 + user.find(':').map_or(0, |colon| colon + 1)
    } else if cut {
        0
    } else {
        // The colon behind a key has a blank after it.
        let mut colons = front.match_indices(':').map(|(i, _)| i + 1);
        let inner = colons.find(|i| front.get(*i..).is_some_and(|r| !r.starts_with(' ')));
        match inner.or_else(|| front.rfind(':').map(|colon| colon + 1)) {
            Some(start) => start,
            None => return line.to_owned(),
        }
    };
    let kept = front.get(..start).unwrap_or_default();
    let secret = front.get(start..).unwrap_or_default();
    let mask = "*".repeat(secret.chars().count());
    format!("{kept}{mask}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_and_the_rest_is_kept() {
        for (url, shown) in [
            ("http://proxy:3128", "http://proxy:3128"),
            ("http://me:secret@proxy:3128", "http://me:***@proxy:3128"),
            ("http://me:s/e@c:ret@proxy/x", "http://me:***@proxy/x"),
            ("http://token@proxy", "http://***@proxy"),
        ] {
            assert_eq!(redact_url(url), shown);
        }
    }

    #[test]
    fn a_masked_line_keeps_its_columns() {
        for line in [
            "  http: http://me:secret@proxy:3128",
            "http: me:secret@proxy",
            "http: 'me:sec:secret@proxy'",
            "a: http://secret@proxy",
        ] {
            let hidden = mask_line(line, false);
            assert!(!hidden.contains("sec"), "{hidden}");
            assert_eq!(hidden.chars().count(), line.chars().count());
            assert!(hidden.contains("@proxy"));
        }
        assert_eq!(mask_line("cret@proxy", true), "****@proxy");
    }
}
