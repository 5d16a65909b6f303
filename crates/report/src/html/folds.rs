//! Parts of the page that are folded away.

use maud::{Markup, html};

/// Returns a part that most readers skip: only its title is shown until it is opened. Links to it and printing open it.
pub fn folded(id: &str, title: &str, body: &Markup) -> Markup {
    html! { details.part id=(id) { summary { h2 { (title) } } (body) } }
}
