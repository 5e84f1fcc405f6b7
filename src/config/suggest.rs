//! The nearest of some names.

/// The candidate that `text` was probably meant to be: equal but for case and separators, or a few
/// typing mistakes away.
pub(crate) fn nearest<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Longer texts are no misspelt names, and the comparison is quadratic.
    if text.is_empty() || text.len() > 64 {
        return None;
    }
    let plain = plain(text);
    let limit = match plain.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        6..=8 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&plain, &self::plain(name)),
                name,
            )
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant_and_nothing_else() {
        let names = ["calico", "antrea", "flannel", "kubernetes.version"];
        assert_eq!(nearest("Calico", names), Some("calico"));
        assert_eq!(nearest("clalico", names), Some("calico"));
        assert_eq!(
            nearest("kubernetes_verison", names),
            Some("kubernetes.version")
        );
        assert_eq!(nearest("cilium", names), None);
        assert_eq!(nearest("", names), None);
    }
}
