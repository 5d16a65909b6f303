use super::*;
use crate::view::View;

fn made_up() -> View {
    let set = fixture::crossed(5);
    crate::view::view(&set, &analysis::analyse(&set), &[])
}

#[test]
fn no_factor_changes_a_figure_only_where_that_is_sure_of_all_and_nothing_saved_is_not_told() {
    let mut view = made_up();
    let effects = &mut view.effects[0].found.effects;
    effects.retain(|effect| effect.with.is_none());
    effects.iter_mut().for_each(|effect| effect.statistics.verdict = Verdict::Same);
    let headline_of =
        |view: &View| headline(&view.variants, &view.figures, &view.effects, &view.splits);
    let sure = headline_of(&view).unwrap();
    assert!(sure.contains("no factor changes random writes"), "{sure}");
    view.effects[0].found.effects[0].statistics.verdict = Verdict::Unclear;
    let open = headline_of(&view).unwrap();
    assert!(!open.contains("no factor changes") && open.contains("the rest is unclear"), "{open}");
    for row in view.figures.iter_mut().filter(|row| row.purpose) {
        row.values.iter_mut().for_each(|value| *value = None);
    }
    assert!(!headline_of(&view).unwrap().contains("was saved"));
}
