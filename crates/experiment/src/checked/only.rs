//! `--only`: some of the variants, by their names.

use crate::written::diagnostic::{Diagnostic, RestsOn, nearest};
use crate::written::variants::Variants;

impl Variants<'_> {
    /// Positions of the variants that `only` names, each text one name or several separated by commas; all positions if it is empty.
    pub(crate) fn pick(&self, only: &[String]) -> Result<Vec<usize>, Diagnostic> {
        let all = 0..self.all.len();
        if only.is_empty() {
            return Ok(all.collect());
        }
        let written = self.all.iter().filter_map(|v| v.written.as_deref());
        let mut known: Vec<&str> =
            self.all.iter().map(|v| v.name.as_str()).chain(written).collect();
        // Names may have commas: the longest that fits is meant.
        known.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let mut wanted = Vec::new();
        for text in only {
            let mut rest = text.trim();
            while !rest.is_empty() {
                let after = |name: &&str| {
                    let after = rest.strip_prefix(*name)?.trim_start();
                    if after.is_empty() { Some(after) } else { after.strip_prefix(',') }
                };
                let found = known.iter().find_map(|name| Some((*name, after(name)?)));
                let (name, after) = found.ok_or_else(|| self.no_variant(rest))?;
                wanted.push(name);
                rest = after.trim_start();
            }
        }
        let is_wanted = |&i: &usize| wanted.iter().any(|name| self.all[i].is(name));
        let picked: Vec<usize> = all.filter(is_wanted).collect();
        if picked.is_empty() { Err(self.no_variant("")) } else { Ok(picked) }
    }

    fn no_variant(&self, text: &str) -> Diagnostic {
        let name = text.split(',').next().unwrap_or(text).trim();
        let names: Vec<&str> = self.all.iter().map(|v| v.name.as_str()).collect();
        let near = nearest(text, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        Diagnostic {
            message: format!("The experiment has no variant '{name}'"),
            span: None,
            help: Some(format!("{near}There are: {}", names.join("; "))),
            rests_on: RestsOn::File,
            ..Diagnostic::default()
        }
    }
}
