//! What the environment does to colours and to the live display.

use wdev::ui::{ColorChoice, Surroundings, Verbosity};

fn with(variables: &[(&str, &str)]) -> Surroundings {
    Surroundings::read(|name| {
        variables
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn colours_follow_the_conventions() {
    let auto =
        |variables: &[(&str, &str)], terminal| with(variables).colored(ColorChoice::Auto, terminal);
    assert!(auto(&[], true));
    assert!(!auto(&[], false));
    assert!(!auto(&[("NO_COLOR", "1")], true));
    assert!(auto(&[("NO_COLOR", "")], true), "empty counts as unset");
    assert!(auto(&[("CLICOLOR_FORCE", "1")], false));
    assert!(!auto(&[("CLICOLOR_FORCE", "0")], false));
    assert!(!auto(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], true));
    assert!(!auto(&[("TERM", "dumb")], true));
    assert!(!auto(&[("CI", "true")], true));
    assert!(with(&[("NO_COLOR", "1")]).colored(ColorChoice::Always, false));
    assert!(!with(&[("CLICOLOR_FORCE", "1")]).colored(ColorChoice::Never, true));
}

#[test]
fn the_live_display_needs_a_willing_terminal() {
    let live =
        |variables: &[(&str, &str)], choice, terminal| with(variables).live(choice, terminal);
    assert!(live(&[], ColorChoice::Auto, true));
    assert!(live(&[], ColorChoice::Never, true));
    assert!(!live(&[], ColorChoice::Always, false));
    for variable in [("NO_COLOR", "1"), ("CI", "1"), ("TERM", "dumb")] {
        assert!(!live(&[variable], ColorChoice::Auto, true), "{variable:?}");
    }
    assert!(live(&[("CI", "false")], ColorChoice::Auto, true));
}

#[cfg(not(windows))]
#[test]
fn characters_beyond_ascii_need_a_utf8_locale() {
    assert!(with(&[("LANG", "de_DE.UTF-8")]).unicode);
    assert!(with(&[("LANG", "C"), ("LC_ALL", "C.utf8")]).unicode);
    assert!(!with(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]).unicode);
    assert!(!with(&[]).unicode);
}

#[test]
fn quiet_wins_over_verbose() {
    assert_eq!(Verbosity::from_flags(true, 2), Verbosity::Quiet);
    assert_eq!(Verbosity::from_flags(false, 0), Verbosity::Normal);
    assert_eq!(Verbosity::from_flags(false, 1), Verbosity::Verbose);
    assert_eq!(Verbosity::from_flags(false, 9), Verbosity::Debug);
}
