"""The page's document: it shows one run, and draws again only what changed."""

import pytest
from bokeh.document import Document
from bokeh.document.models import DocumentModelManager
from runs_of_dashboard import FACTS, a_pass, event, metrics, started, whole_run

from distkern.show.live.fragments import cluster_line
from distkern.show.live.history import ClusterView, NewestRun
from distkern.show.live.page import Page, open_page
from distkern.show.style import STYLES


def cluster():
    return ClusterView("tcp://scheduler:8786", 2, 2, 90 * 2**20, 100 * 2**20)


def histories(**more):
    kept = NewestRun()
    kept.add({"run": {**FACTS, **more}, "events": list(whole_run(3, finished=False))})
    return kept


def page(kept):
    document = Document()
    made = Page(kept, cluster, document)
    made.update()
    return made, document


def text(document, name):
    return str(document.select_one({"name": name}).text)


def curves(made, name):
    return made._figures[name]._lines.data


def test_an_empty_page_says_what_to_do():
    made, document = page(NewestRun())
    assert "distkern train" in text(document, "now")
    assert curves(made, "objective")["xs"] == []
    assert "tcp://scheduler:8786: 2 workers, 2 threads, 90.0 MiB of 100.0 MiB" in text(document, "cluster")
    assert "1 worker, 1 thread, 9 B" in cluster_line(ClusterView("tcp://scheduler:8786", 1, 1, 9, 0))
    assert "no workers, runs wait for one" in cluster_line(ClusterView("tcp://scheduler:8786", 0, 0, 0, 0))


def test_the_document_is_searched_for_models_a_few_times(monkeypatch):
    """Each search visits hundreds of models, and it is the scheduler that waits."""
    searches = []
    search = DocumentModelManager.recompute
    monkeypatch.setattr(
        DocumentModelManager, "recompute", lambda models: searches.append(models) or search(models)
    )
    page(histories())
    assert 1 <= len(searches) <= 4


def test_the_newest_run_is_shown():
    kept = histories()
    made, document = page(kept)
    assert "csvrg on digits.zarr to m" in text(document, "now")
    assert curves(made, "objective")["xs"] == [[1.0, 3.0, 5.0, 7.0]]
    made._over.active = 1
    assert curves(made, "objective")["xs"] == [[1.0, 4.0, 7.0, 10.0]]
    newer = {**FACTS, "id": "two", "began": 1.0, "algorithm": "simba", "out": "/models/<n>"}
    kept.add({"run": newer, "events": [started()]})
    made.update()
    assert "simba on digits.zarr to &lt;n&gt;" in text(document, "now")
    assert curves(made, "objective")["xs"] == []


def test_a_run_has_the_report_s_colours():
    made, document = page(histories())
    for name, kinds in (("error", ("train", "test")), ("memory", ("worker", "driver"))):
        assert curves(made, name)["colour"] == [STYLES[kind].colour for kind in kinds]
        assert set(made._figures[name]._points.data["marker"]) == {STYLES[kind].marker for kind in kinds}
        assert all(STYLES[kind].css in text(document, "legend") for kind in kinds)


def test_the_error_of_no_model_is_not_shown():
    kept = NewestRun()
    stages = [metrics(0), metrics(1, model_size=0), metrics(2), metrics(3)]
    events = [event("stage_finished", float(s["stage"]), metrics=s) for s in stages]
    kept.add({"run": FACTS, "events": [started(), *events[:2]]})
    made, document = page(kept)
    assert curves(made, "error")["ys"] == []
    assert text(document, "now").count("<b>-</b>") == 2
    kept.add({"run": FACTS, "events": events[2:]})
    made.update()
    assert curves(made, "error")["xs"] == [[5.0, 7.0]] * 2
    assert curves(made, "objective")["xs"] == [[1.0, 3.0, 5.0, 7.0]]


def test_memory_against_limit_and_plan():
    made, _ = page(histories(memory_limit=2**29, planned_worker_bytes=2**28))
    drawn = curves(made, "memory")
    assert drawn["dash"] == ["solid", "dashed", "dotted", "dotted"]
    assert drawn["ys"][2] == [2**29] * 2
    assert made._figures["memory"]._notes.data["text"] == ["limit of a worker", "planned peak of a worker"]


def test_the_solver_s_own_figures_can_be_chosen():
    kept = NewestRun()
    events = [event("stage_finished", float(s), metrics=metrics(s, margin=0.1 * s)) for s in range(3)]
    kept.add({"run": FACTS, "events": [started(), *events]})
    made, _ = page(kept)
    assert ("margin", "margin") in made._quantity.options
    made._quantity.value = "margin"
    assert curves(made, "other")["ys"] == [pytest.approx([0.0, 0.1, 0.2])]


def test_errors_of_real_targets_are_roots_and_not_percent():
    kept = NewestRun()
    last = metrics(1, train_error=0.09, test_error=0.16, error="mean squared error")
    kept.add({"run": FACTS, "events": [started(), event("stage_finished", 1.0, metrics=last)]})
    made, document = page(kept)
    assert curves(made, "error")["ys"] == [[pytest.approx(0.3)], [pytest.approx(0.4)]]
    assert made._figures["error"]._title.text == "Root mean squared error"
    assert "<b>0.4</b>" in text(document, "now")


def test_progress_waiting_and_events():
    kept = histories()
    kept.add({"run": FACTS, "events": list(a_pass(50.0, 4))[:3]})
    _, document = page(kept)
    now = text(document, "now")
    assert "stage 4: snapshot" in now
    assert "2 of 4 tasks, 500 of 1,000 rows, 250 rows/s, 2.0 KiB/s<" in now
    assert "The driver spent all of the 16.0 s of passes waiting for tasks." in text(document, "time")
    assert "checkpoint" in text(document, "events")
    begun = {"name": "rounds", "stage": 4, "tasks": 2, "rows": 1000, "bytes": 0, "unit": "rounds"}
    kept.add({"run": FACTS, "events": [event("pass_started", 50.0, **begun)]})
    assert "0 of 2 rounds" in text(page(kept)[1], "now")


def test_nothing_is_sent_where_nothing_changed():
    made, document = page(histories())
    changes = []
    document.on_change(changes.append)
    made.update()
    made.update()
    assert changes == []


def test_names_cannot_smuggle_in_html():
    kept = NewestRun()
    evil = '<img src=x onerror="alert(1)">'
    facts = {"id": evil, "began": 0.0, "algorithm": evil, "data": evil, "out": evil}
    events = [
        started(),
        *a_pass(0.0, 1, name=evil),
        event("worker_lost", 1.0, address=evil),
        event("message", 1.0, text=evil),
        *list(a_pass(5.0, 1, name=evil))[:2],
    ]
    kept.add({"run": facts, "events": events})
    _, document = page(kept)
    shown = "".join(text(document, name) for name in ("now", "time", "events", "legend", "cluster"))
    assert "&lt;img" in shown
    assert "<img" not in shown


def test_open_page_looks_again_and_again():
    document = Document()
    open_page(histories(), cluster, document)
    (callback,) = document.session_callbacks
    assert callback.period == 500
