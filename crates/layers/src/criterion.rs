//! A criterion of a state in words.

use results::model::{Criterion, CriterionResult, Requirement};

/// Returns the layer or device that it is about, as people call it: `data` for `device.data`.
fn subject(criterion: &Criterion) -> &str {
    let layer = criterion.layer.trim_start_matches('{').trim_end_matches('}');
    layer.trim_start_matches("device.")
}

fn shown(criterion: &Criterion, value: f64) -> String {
    let known = crate::metric(&criterion.metric);
    known.map_or_else(|| value.to_string(), |known| known.unit.show(value))
}

/// Returns what must hold: `physical_used_percent of vdo is at least 50 %`.
pub fn describe(criterion: &Criterion) -> String {
    let must = match criterion.must {
        Requirement::BeAtLeast(least) => format!("is at least {}", shown(criterion, least)),
        Requirement::BeAtMost(most) => format!("is at most {}", shown(criterion, most)),
        Requirement::Grow => "grows in a round".to_owned(),
        Requirement::StayWithin(percent) => format!("stays within {percent} % from round to round"),
    };
    format!("{} of {} {must}", criterion.metric, subject(criterion))
}

/// Returns what was read: `60 %`, or `60 %, 59.9 % a round before`.
pub fn found(judged: &CriterionResult) -> String {
    let value = |value: Option<f64>| {
        value.map_or_else(|| "unknown".to_owned(), |value| shown(&judged.criterion, value))
    };
    match (judged.criterion.must, judged.before) {
        (Requirement::StayWithin(_), before @ Some(_)) => {
            format!("{}, {} a round before", value(judged.value), value(before))
        }
        _ => value(judged.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(layer: &str, metric: &str, must: Requirement) -> CriterionResult {
        let criterion = Criterion { layer: layer.into(), metric: metric.into(), must };
        CriterionResult { criterion, before: Some(100_000.0), value: Some(110_000.0), met: true }
    }

    #[test]
    fn a_criterion_names_layer_or_device_and_what_it_must_do() {
        let used = judged("vdo", "physical_used_percent", Requirement::BeAtLeast(50.0));
        assert_eq!(describe(&used.criterion), "physical_used_percent of vdo is at least 50 %");
        let size =
            judged("{device.slow}", "device_write_size_bytes", Requirement::StayWithin(10.0));
        assert_eq!(
            describe(&size.criterion),
            "device_write_size_bytes of slow stays within 10 % from round to round"
        );
        assert_eq!(found(&size), "107 KiB, 97.7 KiB a round before");
        let unknown = CriterionResult { value: None, ..used };
        assert_eq!(found(&unknown), "unknown");
    }
}
