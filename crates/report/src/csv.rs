//! The figures as CSV (RFC 4180): one line per figure and variant.

use crate::view::{Of, View};

const HEAD: &str = "scope,name,metric,unit,variant,median,low,high,n,base,ratio,ratio_low,ratio_high,p,verdict,p_adjusted,threshold,stage";

/// The table of figures. What is not known is an empty field.
pub fn csv(view: &View) -> String {
    let mut lines = vec![HEAD.to_owned()];
    for row in &view.figures {
        let (scope, name) = match &row.scope.of {
            Of::Operation(name) => ("operation", name.as_str()),
            Of::Layer(name) => ("layer", name.as_str()),
            Of::Load => ("load", "load"),
            Of::Command => ("command", "command"),
            Of::Content => ("content", "content"),
        };
        for (index, variant) in view.variants.iter().enumerate() {
            let figure = row.values.get(index).copied().flatten();
            let comparison = row.comparisons.get(index).and_then(Option::as_ref);
            let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
            let fields = [
                scope.to_owned(),
                quoted(name),
                quoted(&row.metric),
                unit(row.unit),
                quoted(&variant.name),
                number(figure.map(|f| f.median)),
                number(figure.and_then(|f| f.low)),
                number(figure.and_then(|f| f.high)),
                figure.map(|f| f.n.to_string()).unwrap_or_default(),
                comparison.map(|c| quoted(&c.base)).unwrap_or_default(),
                number(comparison.and_then(|c| c.ratio)),
                number(comparison.and_then(|c| c.low)),
                number(comparison.and_then(|c| c.high)),
                number(comparison.and_then(|c| c.p)),
                comparison
                    .and_then(|c| c.verdict)
                    .map_or_else(String::new, |v| v.word().to_owned()),
                number(comparison.and_then(|c| c.p_adjusted)),
                number(comparison.and_then(|c| c.threshold)),
                row.scope.stage.as_deref().map(quoted).unwrap_or_default(),
            ];
            lines.push(fields.join(","));
        }
    }
    lines.join("\r\n") + "\r\n"
}

/// A unit as in JSON: `bytes_per_second`.
fn unit(unit: units::Unit) -> String {
    let value = serde_json::to_value(unit).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// A field that may hold commas, quotes or line breaks; a spreadsheet must not take it for a formula.
fn quoted(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    if guard.is_empty() && !text.contains([',', '"', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_that_could_break_a_line_or_run_as_a_formula_are_quoted() {
        assert_eq!(quoted("vdo"), "vdo");
        assert_eq!(quoted("400G, \"default\""), "\"400G, \"\"default\"\"\"");
        assert_eq!(quoted("=1+1"), "\"'=1+1\"");
    }
}
