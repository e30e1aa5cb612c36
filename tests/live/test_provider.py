"""The card provider: keys kept as Stripe keeps them, every way to misbehave, and books that survive."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from simlib.live.client import DIRECT
from simlib.live.provider_client import (
    CardDeclined,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnavailable,
    header_of,
)
from simlib.live.provider_server import BEHAVIOURS, Behaviour, RunningProvider, provider
from simlib.policy.keys import parse_key

SILENT = 0.2  # seconds given to a provider that will not answer


def post(running: RunningProvider, body: object, key: str | None = "k") -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return httpx.post(f"{running.url}/charges", json=body, headers=headers, **DIRECT)


def test_a_key_charges_once_and_gives_the_same_answer() -> None:
    with provider() as bank:
        first, second = post(bank, {"amount_cents": 5000}), post(bank, {"amount_cents": 5000})
        assert (first.status_code, first.content) == (second.status_code, second.content)
        assert "Idempotent-Replayed" not in first.headers
        assert second.headers["Idempotent-Replayed"] == "true"
        assert len(bank.charges()) == 1


def test_a_key_is_compared_with_what_it_first_came_with() -> None:
    with provider() as bank:
        post(bank, {"amount_cents": 5000})
        other = post(bank, {"amount_cents": 7000})
        assert (other.status_code, other.json()["type"]) == (400, "idempotency_error")
        assert len(bank.charges()) == 1


def test_a_clash_with_a_running_request_is_409_and_not_kept() -> None:
    """The slow charge is done although its caller has gone; meanwhile its key is running, and then replayed."""
    with provider("slow:0.6") as bank:
        with pytest.raises(ProviderTimeout):
            bank.charge("k", 5000, timeout=SILENT)
        with pytest.raises(ProviderUnavailable, match="409"):
            bank.charge("k", 5000)
        assert bank.charges() == []
        while not bank.charges():
            pass
        assert bank.charge("k", 5000) == "ch_1"


@pytest.mark.parametrize("body", [{}, {"amount_cents": 0}, {"amount_cents": "5000"}, {"amount_cents": 2**31}, []])
def test_nothing_is_kept_of_a_request_that_fails_validation(body: object) -> None:
    with provider() as bank:
        assert post(bank, body).status_code == 400
        assert post(bank, {"amount_cents": 5000}).status_code == 201


def test_a_missing_key_is_refused() -> None:
    with provider() as bank:
        assert post(bank, {"amount_cents": 5000}, key=None).status_code == 400


@pytest.mark.parametrize(
    ("behaviour", "first", "again", "charges"),
    [
        ("ok", None, None, 1),
        ("slow:0.05", None, None, 1),
        ("decline", CardDeclined, CardDeclined, 0),
        ("error", ProviderUnavailable, ProviderUnavailable, 0),
        ("unavailable", ProviderUnavailable, None, 1),
        ("busy:1", ProviderUnavailable, None, 1),
        ("time-out", ProviderTimeout, None, 1),
        ("drop", ProviderTimeout, None, 1),
        ("charge-then-time-out", ProviderTimeout, None, 1),
        ("charge-then-drop", ProviderTimeout, None, 1),
        ("charge-then-error", ProviderUnavailable, ProviderUnavailable, 1),
    ],
)
def test_each_behaviour_and_what_a_retry_with_the_same_key_meets(
    behaviour: str, first: type | None, again: type | None, charges: int
) -> None:
    """A 500 is kept once the work began; what happened before that, or to the answer, is not."""
    with provider(behaviour) as bank:
        for expected in (first, again):
            timeout = SILENT if expected is ProviderTimeout else 10
            if expected is None:
                assert bank.charge("k", 5000, timeout) == "ch_1"
            else:
                with pytest.raises(expected):
                    bank.charge("k", 5000, timeout)
        assert len(bank.charges()) == charges


def test_every_behaviour_is_in_the_table_above() -> None:
    rows = test_each_behaviour_and_what_a_retry_with_the_same_key_meets.pytestmark[0].args[1]
    assert {row[0].partition(":")[0] for row in rows} == set(BEHAVIOURS)


def test_without_any_support_every_try_charges_but_one_can_look_first() -> None:
    with provider("charge-then-drop", support="none") as bank:
        with pytest.raises(ProviderTimeout):
            bank.charge("1:k", 5000)
        found = bank.find("1:k")
        assert found is not None
        assert found.id == "ch_1"
        bank.charge("1:k", 5000)
        assert [charge.reference for charge in bank.charges()] == ["1:k", "1:k"]


def test_a_reference_of_ours_may_be_all_the_provider_checks() -> None:
    with provider("charge-then-drop", support="reference") as bank:
        with pytest.raises(ProviderTimeout):
            bank.charge("1:k", 5000)
        with pytest.raises(ProviderUnavailable, match="1:k"):
            bank.charge("1:k", 5000)
        assert len(bank.charges()) == 1


def test_five_at_once_on_one_key_charge_once() -> None:
    with provider("slow:0.2") as bank, ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: post(bank, {"amount_cents": 700}).status_code, range(5)))
        assert set(answers) <= {201, 409}
        assert 201 in answers
        assert len(bank.charges()) == 1


def test_its_books_survive_its_own_death(tmp_path) -> None:
    books = tmp_path / "books.sqlite"
    with provider("charge-then-drop", books=books, process=True) as bank:
        with pytest.raises(ProviderTimeout):
            bank.charge("k", 5000)
        bank.server.kill()
    with provider(books=books) as bank:
        assert bank.charge("k", 5000) == "ch_1"
        assert len(bank.charges()) == 1


def test_a_key_that_was_running_when_it_died_can_be_asked_again(tmp_path) -> None:
    books = tmp_path / "books.sqlite"
    with provider("slow:30", books=books, process=True) as bank:
        with pytest.raises(ProviderTimeout):
            bank.charge("k", 5000, timeout=SILENT)
        bank.server.kill()
    with provider(books=books) as bank:
        assert bank.charge("k", 5000) == "ch_1"


def test_chance_is_seeded() -> None:
    def fates(seed: int) -> list[int]:
        with provider(shares={"decline": 0.5, "unavailable": 0.2}, seed=seed) as bank:
            return [post(bank, {"amount_cents": 1}, key=f"k{n}").status_code for n in range(20)]

    first = fates(7)
    assert first == fates(7)
    assert first != fates(8)
    assert set(first) == {201, 402, 503}


def test_it_can_be_told_while_it_runs() -> None:
    with provider() as bank:
        bank.charge("a", 1)
        bank.behave("decline")
        with pytest.raises(CardDeclined):
            bank.charge("b", 1)
        with pytest.raises(ValueError, match="lunch"):
            bank.behave("lunch")


def test_a_request_the_provider_finds_wrong_is_told_apart() -> None:
    with provider() as bank, pytest.raises(ProviderRefused, match="amount_cents"):
        bank.charge("k", 0)


@pytest.mark.parametrize("words", ["lunch", "decline:1", "slow:soon", "slow:-1", "slow:inf", ""])
def test_a_behaviour_it_does_not_know_is_told(words: str) -> None:
    with pytest.raises(ValueError, match=r"behaviour|after its colon"):
        Behaviour.parse(words)


@pytest.mark.parametrize("key", ["1:8e03", 'a "quoted" one', "back\\slash", "two words", "1:" + "k" * 300, "café", " "])
def test_any_key_of_ours_travels_downstream(key: str) -> None:
    """A key that a header cannot carry goes as its hash, the same each time and no other's."""
    sent = parse_key(header_of(key))
    assert sent == parse_key(header_of(key))
    assert sent == key or sent.startswith("sha256-")


def test_it_leaves_no_folder_behind(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with provider() as bank:
        bank.charge("k", 1)
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
