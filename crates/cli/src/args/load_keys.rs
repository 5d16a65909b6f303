//! Translation of a load stage's keys into the options of the command line.

use clap::Args;

use super::LoadArgs;

/// Replaces a load stage's keys in a text by the options of the command line: `pattern = "random"` is `--pattern random`.
pub fn as_options(text: &str) -> String {
    let options = LoadArgs::augment_args(clap::Command::new("load"));
    let (mut written, mut rest) = (String::new(), text);
    while let Some((before, value)) = rest.split_once(" = ") {
        let start = before.trim_end_matches(|c: char| c.is_ascii_lowercase() || c == '_').len();
        let name = match &before[start..] {
            "direct" => "buffered".to_owned(),
            key @ ("scope" | "distance" | "window" | "domain") => format!("dedupe-{key}"),
            key @ ("block" | "profile") => format!("content-{key}"),
            key => key.replace('_', "-"),
        };
        let Some(option) = options.get_arguments().find(|arg| arg.get_long() == Some(&*name))
        else {
            written.extend([before, " = "]);
            rest = value;
            continue;
        };
        written.extend([&before[..start], "--", &*name]);
        rest = value;
        if !option.get_action().takes_values() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        } else if let Some((quoted, behind)) =
            value.strip_prefix('"').and_then(|value| value.split_once('"'))
        {
            written.extend([" ", quoted]);
            rest = behind;
        } else {
            written.push(' ');
        }
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::as_options;

    #[test]
    fn keys_of_a_stage_are_told_as_the_options_that_they_are() {
        for (written, here) in [
            (
                "set pattern = \"permutation\" (each block once)",
                "set --pattern permutation (each block once)",
            ),
            ("last_block = true needs a strided pattern", "--last-block needs a strided pattern"),
            ("batch = 64 makes no sense: so", "--batch 64 makes no sense: so"),
            ("x beside scope = \"live\"", "x beside --dedupe-scope live"),
            ("size = 1 GiB + 5 reaches", "--size 1 GiB + 5 reaches"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(as_options(written), here);
        }
    }
}
