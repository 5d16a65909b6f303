//! The figures as CSV (RFC 4180): one line per figure and variant.

use units::Metric;

use crate::view::{JobFigures, Of, View};

const HEAD: &str = "scope,name,metric,unit,variant,median,low,high,n,base,ratio,ratio_low,ratio_high,p,verdict,p_adjusted,threshold,stage,job";

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
            // The variant's own name of a device. It is skipped if the variant has a device of the shared name at another place.
            let Some(own_scope) = row.scope.as_named_by(&variant.devices) else { continue };
            let fields = [
                scope.to_owned(),
                quoted(own_scope.as_layer().unwrap_or(name)),
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
                String::new(),
            ];
            lines.push(fields.join(","));
        }
    }
    lines.extend(view.jobs.iter().flat_map(|row| jobs(view, row)));
    lines.join("\r\n") + "\r\n"
}

/// Returns the lines with one job's figures: they begin with `job`, end with the job's number, and have no comparison.
fn jobs(view: &View, row: &JobFigures) -> Vec<String> {
    let variant = view.variants.get(row.variant).map(|variant| quoted(&variant.name));
    let operation = row.scope.as_operation().map(quoted).unwrap_or_default();
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    let line = |metric: &Metric| {
        let figure = row.figures.get(metric.id)?;
        let fields = [
            "job".to_owned(),
            operation.clone(),
            quoted(metric.id),
            unit(metric.unit),
            variant.clone().unwrap_or_default(),
            figure.median.to_string(),
            number(figure.low),
            number(figure.high),
            figure.n.to_string(),
        ];
        let stage = row.scope.stage.as_deref().map(quoted).unwrap_or_default();
        let none = std::iter::repeat_n(String::new(), 8);
        let all = fields.into_iter().chain(none).chain([stage, row.job.to_string()]);
        Some(all.collect::<Vec<_>>().join(","))
    };
    layers::metrics().filter_map(line).collect()
}

/// Returns the name of a unit as in JSON: `bytes_per_second`.
fn unit(unit: units::Unit) -> String {
    let value = serde_json::to_value(unit).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Quotes a field that may contain commas, quotes or line breaks, so that a spreadsheet does not take it for a formula either.
pub(crate) fn quoted(text: &str) -> String {
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
