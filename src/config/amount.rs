//! Amounts of memory and lengths of time.

use std::fmt::Write as _;
use std::time::Duration;

use super::scalar::{Checked, Complaint, digits};

/// At most 16 TiB: no host has more, and sums stay far from overflow.
const MEMORY_MAX: u64 = 16 * 1024 * 1024;

/// MiB. `GB` and `MB` count by 1024 as hypervisors count them.
pub(crate) fn memory(text: &str) -> Checked<u64> {
    let allowed = "a whole number of MiB as in `6048`, or one with a unit as in `6GiB` or `6144M`";
    let wrong = |why: &str| {
        Complaint::new(format!("`{text}` is not an amount of memory: {why}")).allow(allowed)
    };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-' && c != '+')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let factor = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "m" | "mb" | "mi" | "mib" => 1,
        "g" | "gb" | "gi" | "gib" => 1024,
        "t" | "tb" | "ti" | "tib" => 1024 * 1024,
        "k" | "kb" | "ki" | "kib" | "b" => return Err(wrong("the unit is too small")),
        other => return Err(wrong(&format!("`{other}` is not a unit"))),
    };
    if number.starts_with('-') {
        return Err(wrong("it is negative"));
    }
    let Some(number) = digits(number) else {
        return Err(wrong(if number.contains('.') {
            "it is not a whole number"
        } else if number.is_empty() {
            "it does not start with a number"
        } else {
            "the number cannot be read"
        }));
    };
    let mib = number.saturating_mul(factor);
    match mib {
        0 => Err(wrong("a machine needs some")),
        1..=MEMORY_MAX => Ok(mib),
        _ => Err(wrong("no machine has that much")),
    }
}

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// From one second to a week.
pub(crate) fn duration(text: &str) -> Checked<Duration> {
    let allowed = "a time with its unit, from `1s` to `7d`, as in `90s`, `15m` or `1h30m`";
    let wrong = |why: &str| {
        Complaint::new(format!("`{text}` is not a length of time: {why}")).allow(allowed)
    };
    if digits(text).is_some() {
        return Err(wrong("the unit is missing").suggest(Some(format!("{text}m"))));
    }
    let units = |c: char| c.is_ascii_digit() || "dhms. ".contains(c);
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.chars().all(units) {
        return Err(wrong(if text.starts_with('-') {
            "it is negative"
        } else {
            "it cannot be read"
        }));
    }
    let days = text.strip_suffix('d').and_then(digits);
    let read = if let Some(days) = days {
        Duration::from_secs(days.saturating_mul(DAY))
    } else {
        let signed: jiff::SignedDuration = text.parse().map_err(|_| wrong("it cannot be read"))?;
        Duration::try_from(signed).map_err(|_| wrong("it is negative"))?
    };
    if read < Duration::from_secs(1) {
        return Err(wrong("it is too short"));
    }
    if read.subsec_nanos() > 0 {
        return Err(wrong("it is not a whole number of seconds"));
    }
    if read > Duration::from_secs(7 * DAY) {
        return Err(wrong("it is too long"));
    }
    Ok(read)
}

/// A length of time as a user would write it.
pub(crate) fn shown_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let mut out = String::new();
    for (unit, amount) in [
        ("h", seconds / 3600),
        ("m", seconds / 60 % 60),
        ("s", seconds % 60),
    ] {
        if amount > 0 {
            let _ = write!(out, "{amount}{unit}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_with_and_without_a_unit() {
        for (text, mib) in [
            ("6048", 6048),
            ("6GiB", 6144),
            ("6144M", 6144),
            ("6GB", 6144),
            ("6 Gi", 6144),
            ("1T", 1024 * 1024),
        ] {
            assert_eq!(memory(text).ok(), Some(mib), "{text}");
        }
    }

    #[test]
    fn memory_that_makes_no_sense_is_refused() {
        for text in [
            "0",
            "0GiB",
            "-1",
            "4096.5",
            "6 bananas",
            "",
            "GiB",
            "64k",
            "99999999999999999999",
            "99999T",
            "0x10",
        ] {
            assert!(memory(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_units_and_bounds() {
        for (text, seconds) in [("15m", 900), ("90s", 90), ("1h30m", 5400), ("7d", 604_800)] {
            assert_eq!(
                duration(text).ok(),
                Some(Duration::from_secs(seconds)),
                "{text}"
            );
        }
        for text in ["15", "-5m", "0s", "8d", "soon", "", "1ms", "1.5s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(
            duration("15").err().and_then(|c| c.suggestion).as_deref(),
            Some("15m")
        );
    }

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["1s", "1h30m", "61m", "1.5h", "2h1s", "7d"] {
            let read = duration(text).unwrap();
            assert_eq!(duration(&shown_duration(read)).ok(), Some(read), "{text}");
        }
    }
}
