//! The texture of compressible data where an experiment asks what its packing costs.

use content::{BLOCK, ContentSpec, Texture};
use results::model::AskedMetric;
use workload::LoadSpec;

use crate::stages::Stage;
use crate::written::questions::Question;

/// Makes data natural where a question is of [`layers::COSTS`] and a load says nothing of a texture, whatever kind of stage it is of: random bytes and zeros cost a
/// compressor a fraction of what real data does.
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

/// Tells whether what a load writes is natural, as it should be where such a metric is asked; whoever chose it.
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
