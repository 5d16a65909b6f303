//! The texture of compressible data where an experiment asks what its packing costs.

use content::{BLOCK, ContentSpec, Texture};
use results::model::AskedMetric;
use workload::LoadSpec;

use crate::stages::Stage;
use crate::written::questions::Question;

/// Gives the natural texture to loads that set none, in stages of any kind, if a question is about one of [`layers::COSTS`]: random bytes and
/// zeros cost a compressor a fraction of what real data does.
pub(crate) fn choose<'a>(questions: &[Question], stages: impl Iterator<Item = &'a mut Stage>) {
    if !questions.iter().any(|question| is_cost(&question.subject.metric)) {
        return;
    }
    for load in
        stages.flat_map(|stage| stage.task.loads_mut()).filter(|load| is_open(&load.content))
    {
        load.content.texture = Some(Texture::Natural);
    }
}

/// Tells whether a question is about such a metric and the load writes data of natural texture, chosen here or in the file.
pub(crate) fn suits(questions: &[AskedMetric], load: &LoadSpec) -> bool {
    load.content.compresses()
        && load.content.texture() == Texture::Natural
        && questions.iter().any(|question| is_cost(&question.metric))
}

fn is_cost(metric: &str) -> bool {
    layers::COSTS.contains(&metric)
}

fn is_open(content: &ContentSpec) -> bool {
    content.texture.is_none() && content.compresses() && content.unit() == BLOCK
}
