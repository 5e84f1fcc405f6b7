//! Chance that is none: every draw is a hash of the seed and of what is drawn for, so that no draw
//! depends on which node came first.

/// A number that follows from `seed` and `parts` alone.
pub(super) fn draw(seed: u64, parts: &[&str]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A number from `low` to `high`, both included.
pub(super) fn between(seed: u64, parts: &[&str], low: u64, high: u64) -> u64 {
    let span = high.saturating_sub(low).saturating_add(1);
    low + draw(seed, parts) % span.max(1)
}

/// Sixteen hexadecimal digits.
pub(super) fn digits(seed: u64, parts: &[&str]) -> String {
    format!("{:016x}", draw(seed, parts))
}
