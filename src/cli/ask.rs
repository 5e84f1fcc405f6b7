//! Questions that must be answered with yes before something is removed.

use dialoguer::Confirm;

use super::{Globals, run};
use crate::error::{Failure, Kind, Result};
use crate::ui::{Ui, prompts_possible};

/// What is to be removed.
pub(super) struct Removal<'a> {
    /// What needs the answer: `` `destroy` of `default` ``.
    pub what: String,
    /// The command that asks nothing.
    pub again: &'a str,
    /// What goes with it.
    pub told: String,
    /// The question.
    pub question: &'a str,
}

/// Returns when the user has said yes, now or with `--yes`.
///
/// # Errors
/// `Arguments` when nobody can be asked, `Interrupted` when the answer was no.
pub(super) fn confirm(globals: &Globals, removal: &Removal, ui: &Ui) -> Result<()> {
    if globals.yes {
        return Ok(());
    }
    if !prompts_possible(globals.no_input) {
        return Err(Box::new(
            Failure::new(
                Kind::Arguments,
                format!(
                    "{} must be confirmed, and nobody can be asked",
                    removal.what
                ),
            )
            .advise(format!("run `{}`", run::again(globals, removal.again))),
        ));
    }
    ui.err(&removal.told);
    // A whole line: a key that was typed ahead for something else must not remove anything.
    let answer = Confirm::new()
        .with_prompt(removal.question)
        .default(false)
        .wait_for_newline(true)
        .interact_opt()
        .map_err(|error| Failure::new(Kind::Interrupted, "nobody answered").because(error))?;
    if answer == Some(true) {
        Ok(())
    } else {
        Err(Box::new(Failure::new(
            Kind::Interrupted,
            "nothing was removed: you said no",
        )))
    }
}
