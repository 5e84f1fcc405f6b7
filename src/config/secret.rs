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
pub(crate) fn mask_line(line: &str) -> String {
    // Without `://` the part before `@` may still be credentials: a proxy written without scheme.
    let Some(at) = line.rfind('@') else {
        return line.to_owned();
    };
    let Some(head) = line.get(..at) else {
        return line.to_owned();
    };
    let tail = line.get(at..).unwrap_or_default();
    let start = match head.find("://") {
        Some(scheme) => match head.get(scheme + 3..).and_then(|rest| rest.find(':')) {
            Some(colon) => scheme + 3 + colon + 1,
            None => scheme + 3,
        },
        None => match head.rfind(':') {
            Some(colon) => colon + 1,
            None => return line.to_owned(),
        },
    };
    let kept = head.get(..start).unwrap_or_default();
    let hidden = head.get(start..).unwrap_or_default();
    let stars = "*".repeat(hidden.chars().count());
    format!("{kept}{stars}{tail}")
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
            "a: http://secret@proxy",
        ] {
            let masked = mask_line(line);
            assert!(!masked.contains("secret"), "{masked}");
            assert_eq!(masked.chars().count(), line.chars().count());
            assert!(masked.contains("@proxy"));
        }
    }
}
