//! Checksum files as projects publish them.
//!
//! Bare, as `https://dl.k8s.io/release/v1.36.0/bin/linux/amd64/kubeadm.sha256`; one or many lines `HASH
//! NAME` as `sha256sum` writes them (containerd, runc, cri-tools, the CNI plugins), also within a signed
//! message; and the form with `SHA256 (NAME) = HASH` of the BSDs.

/// The SHA-256 that a checksum file gives for the file `name`, in lower case; none when it gives none.
/// A hash that stands alone is that of any file.
#[must_use]
pub fn find(text: &str, name: &str) -> Option<String> {
    let mut alone = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(hash) = normal(line) {
            alone.push(hash);
        } else if let Some((hash, of)) = with_name(line)
            && of.rsplit(['/', '\\']).next() == Some(name)
        {
            return normal(hash);
        }
    }
    match alone.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

fn with_name(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("SHA256 (") {
        let (of, hash) = rest.split_once(") = ")?;
        return Some((hash, of));
    }
    let (hash, of) = line.split_once(char::is_whitespace)?;
    let of = of.trim_start();
    Some((hash, of.strip_prefix('*').unwrap_or(of)))
}

/// A SHA-256 in lower case, or nothing where the text is none.
#[must_use]
pub fn normal(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase())
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn every_form_gives_the_hash_of_the_file_that_is_asked_for() {
        for text in [
            A.to_owned(),
            format!("{}\r\n", A.to_uppercase()),
            format!("{A}  tool.tgz\n"),
            format!("{B}  other.tgz\n{A} *./out/tool.tgz\n"),
            format!(
                "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{B}  a\n{A}  tool.tgz\n-----BEGIN PGP SIGNATURE-----\n\niQIz\n"
            ),
            format!("SHA256 (tool.tgz) = {A}\n"),
        ] {
            assert_eq!(find(&text, "tool.tgz").as_deref(), Some(A), "{text}");
        }
    }

    #[test]
    fn a_file_that_says_nothing_of_the_name_gives_nothing() {
        for text in [
            String::new(),
            "<html>".to_owned(),
            format!("{A}  other.tgz"),
            format!("{A}  xtool.tgz"),
            format!("{A}\n{B}"),
            A[1..].to_owned(),
            format!("{A}a  tool.tgz"),
        ] {
            assert_eq!(find(&text, "tool.tgz"), None, "{text}");
        }
    }
}
