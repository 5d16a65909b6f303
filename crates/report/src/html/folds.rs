//! Parts of the page that are folded away.

use maud::{Markup, html};

/// A part that most readers pass by: its title, the rest behind it. Links to it and printing open it.
pub fn folded(id: &str, title: &str, body: &Markup) -> Markup {
    html! { details.part id=(id) { summary { h2 { (title) } } (body) } }
}
