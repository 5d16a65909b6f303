//! A report, from a result to the page in a browser.

#[cfg(test)]
mod browser;
#[cfg(test)]
mod chromium;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod drawn;
#[cfg(test)]
mod first_screen;
#[cfg(test)]
mod ladders;
#[cfg(test)]
mod many;
#[cfg(test)]
mod page;
#[cfg(test)]
mod recomputed;
#[cfg(test)]
mod sentences;
mod sources;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod why;

#[cfg(test)]
mod given {
    use report::view::View;
    use results::model::{
        Bound, CommandFigures, ExpectedFigure, FigureName, PictureFacts, ReportedFacts,
        ReportedSpread, ReportedValue, Row, Show, SweepFacts,
    };
    use results::read::ResultSet;

    /// The view of a result as the program makes it.
    pub fn view(set: &ResultSet) -> View {
        let analysis = analysis::analyse(set);
        let findings = doctor::examine(set, &analysis);
        report::view::view(set, &analysis, &findings)
    }

    /// The page of one result.
    pub fn page(set: &ResultSet) -> String {
        report::html::page(&[view(set)])
    }

    /// All charts of a page, from the JSON that it carries.
    pub fn charts(page: &str) -> Vec<serde_json::Value> {
        let mut charts = Vec::new();
        for block in page.split("<script class=\"charts\"").skip(1) {
            let json = block.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
            charts.extend(serde_json::from_str::<Vec<serde_json::Value>>(json).unwrap());
        }
        charts
    }

    /// A result whose load has two operations and was verified, so that every key there is stands in its JSON.
    pub fn two_operations() -> ResultSet {
        let mut set = fixture::result();
        for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
            for load in record.stages.iter_mut().filter_map(|stage| stage.load.as_mut()) {
                if let Some(write) = load.operations.get("randwrite").cloned() {
                    load.operations.insert("randread".to_owned(), write);
                }
                load.verify = Some(results::model::VerifyFigures::default());
            }
            for stage in record.stages.iter_mut().filter(|stage| stage.measured) {
                stage.command =
                    Some(CommandFigures { elapsed_s: Some(3.0), ..CommandFigures::default() });
            }
        }
        // A thread that is busy: a limit that a change of a setting would remove.
        let vdo = &mut set.manifest.plan.variants[1].stack[1].settings;
        vdo.insert("cpu_threads".into(), "1".into());
        for row in set.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
            if let Row::Sample(sample) = row
                && let Some(Some(cpu)) = sample.fields.get_mut("cpuQ0")
            {
                *cpu *= 2.5;
            }
        }
        let figure = |variant: &str| FigureName {
            metric: "iops".into(),
            stage: None,
            operation: Some("randwrite".into()),
            layer: None,
            variant: variant.into(),
        };
        set.manifest.plan.expectations = vec![ExpectedFigure {
            of: Some(figure("plain")),
            source: Some("a made-up figure".into()),
            evidence: vec![figure("vdo"), figure("plain")],
            ..ExpectedFigure::new(figure("vdo"), Bound::Near { value: 0.4, by: 0.2 })
        }];
        let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
        let stages = records.flat_map(|record| &mut record.stages);
        for load in stages.filter_map(|stage| stage.load.as_mut()) {
            load.operations.values_mut().for_each(|operation| operation.io_bytes = Some(4096));
        }
        let spread = ReportedSpread { q1: 5.0, q3: 21.0, min: 1.0, max: 30.0, std_dev: 4.0 };
        let of_each_io = |variant: &str| FigureName {
            metric: "io_bandwidth_p50_bytes_per_s".into(),
            ..figure(variant)
        };
        let value = |variant: &str, value| ReportedValue {
            figure: of_each_io(variant),
            value,
            spread: Some(spread),
        };
        set.manifest.plan.reported = vec![ReportedFacts {
            what: "table 1".into(),
            unit: "thousands".into(),
            here: None,
            values: vec![value("plain", 20.0), value("vdo", 7.5)],
        }];
        set
    }

    /// A picture that shows this of everything.
    pub fn picture(show: Show) -> PictureFacts {
        PictureFacts {
            show,
            stage: None,
            operation: None,
            layer: None,
            series: Vec::new(),
            percentiles: Vec::new(),
            metric: None,
            by: None,
        }
    }

    /// The fixture with a sweep of two points, the second at a third of the speed in both variants.
    pub fn swept() -> ResultSet {
        let mut result = fixture::result();
        result.manifest.simulated = false;
        let point = |depth: &str| SweepFacts {
            stage: "random-write".into(),
            point: [("depth".to_owned(), depth.to_owned())].into(),
        };
        for variant in &mut result.manifest.plan.variants {
            let mut again = variant.stages[1].clone();
            again.name = "random-write depth=1".into();
            again.sweep = Some(point("1"));
            variant.stages[1].sweep = Some(point("32"));
            variant.stages[1].name = "random-write depth=32".into();
            variant.stages.push(again);
        }
        for record in result.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
            let mut again = record.stages[1].clone();
            (again.index, again.name) = (2, "random-write depth=1".into());
            again.load.as_mut().unwrap().duration_ns *= 3;
            record.stages[1].name = "random-write depth=32".into();
            record.stages.push(again);
        }
        result
    }

    /// The same as a sweep by bytes in flight: 128 KiB as one I/O, and as 32 at three times its speed.
    pub fn split() -> ResultSet {
        let mut result = swept();
        let variants = result.manifest.plan.variants.iter_mut();
        for sweep in variants.flat_map(|v| &mut v.stages).filter_map(|stage| stage.sweep.as_mut()) {
            sweep.point.insert("outstanding".into(), "128k".into());
        }
        result
    }

    /// One picture of every kind that the made-up result can show.
    pub fn pictures() -> Vec<PictureFacts> {
        let series = |names: &[&str], stage: Option<&str>| PictureFacts {
            layer: Some("vdo".into()),
            series: names.iter().map(|&name| name.to_owned()).collect(),
            stage: stage.map(str::to_owned),
            ..picture(Show::Series)
        };
        let percentiles = vec![50.0, 99.0];
        let stage = Some("random-write".to_owned());
        vec![
            PictureFacts { stage: stage.clone(), ..picture(Show::IopsOverTime) },
            picture(Show::ThroughputOverTime),
            PictureFacts { percentiles: percentiles.clone(), ..picture(Show::LatencyOverTime) },
            PictureFacts { percentiles, stage, ..picture(Show::LatencyBars) },
            series(&["saving_percent"], None),
            series(&["data_blocks_used"], Some("random-write")),
            series(&["logical", "data"], Some("random-write")),
            PictureFacts { metric: Some("iops".into()), ..picture(Show::Comparison) },
            picture(Show::Unknown),
        ]
    }

    /// The made-up result with so many variants: the second again, under other names.
    pub fn variants(count: usize) -> ResultSet {
        let mut set = fixture::with(3, 7_600.0);
        let vdo: Vec<_> = set.cells_of("vdo").cloned().collect();
        for number in 2..count {
            let name = format!("vdo {number}");
            let mut variant = set.manifest.plan.variants[1].clone();
            variant.name.clone_from(&name);
            set.manifest.plan.variants.push(variant);
            for mut cell in vdo.clone() {
                cell.entry.variant.clone_from(&name);
                cell.record.as_mut().unwrap().variant.clone_from(&name);
                set.cells.push(cell);
            }
        }
        set
    }

    /// A result whose experiment, variants and layers have `before` in front of their names.
    pub fn named(set: &ResultSet, before: &str) -> ResultSet {
        let mut set = set.clone();
        let longer = |name: &mut String| name.insert_str(0, before);
        let plan = &mut set.manifest.plan;
        longer(&mut plan.experiment);
        for variant in &mut plan.variants {
            longer(&mut variant.name);
            variant.stack.iter_mut().for_each(|layer| longer(&mut layer.name));
        }
        for cell in &mut set.cells {
            longer(&mut cell.entry.variant);
            let Some(record) = cell.record.as_mut() else { continue };
            longer(&mut record.variant);
            let layers = std::mem::take(&mut record.layers);
            record.layers =
                layers.into_iter().map(|(name, f)| (format!("{before}{name}"), f)).collect();
            for row in &mut cell.rows {
                if let Row::Sample(sample) = row {
                    longer(&mut sample.source);
                }
            }
        }
        set
    }

    /// A result in which every text that others choose tries to break out of the page.
    pub fn hostile() -> ResultSet {
        const EVIL: &str =
            "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{1b}[31m";
        let mut set = fixture::result();
        let evil = |text: &mut String| *text = format!("{EVIL}{text}");
        let plan = &mut set.manifest.plan;
        evil(&mut plan.experiment);
        evil(&mut plan.about);
        for variant in &mut plan.variants {
            evil(&mut variant.name);
            for layer in &mut variant.stack {
                layer.settings.insert(EVIL.to_owned(), EVIL.to_owned());
            }
        }
        set.manifest.host.0.insert(EVIL.to_owned(), EVIL.to_owned());
        set.manifest.command.push(EVIL.to_owned());
        for cell in &mut set.cells {
            evil(&mut cell.entry.variant);
            let Some(record) = cell.record.as_mut() else { continue };
            evil(&mut record.variant);
            record.reason = Some(EVIL.to_owned());
            record.steps.iter_mut().for_each(|step| evil(&mut step.command));
        }
        set
    }
}
