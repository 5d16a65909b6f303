//! The findings in a result that make a command fail.

use clap::Args;
use stats::Verdict;

/// The conditions under which a command ends with exit code 1 although it did its work.
#[derive(Debug, Clone, Default, Args)]
pub struct Gates {
    /// End with exit code 1 when an expectation of the experiment is missed or rests on too few I/Os, or when its figure, or one that is asked about,
    /// is missing.
    #[arg(long)]
    pub strict: bool,
    /// End with exit code 1 when a verdict is one of these: better, worse, same, differs, unclear; comma separated.
    #[arg(long, value_name = "VERDICT,...", value_delimiter = ',', value_parser = parse_verdict)]
    pub fail_on: Vec<Verdict>,
}

pub fn parse_verdict(word: &str) -> Result<Verdict, String> {
    let known = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word.trim());
    known.ok_or_else(|| {
        let words: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.word()).collect();
        format!("there is no verdict '{word}'; there are: {}", words.join(", "))
    })
}
