"""What all tests share."""

import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from auxcal import NO_CLASS, Calibrator, Predictions
from auxcal._core.logits import top_scores
from auxcal.calibrators import auxiliary
from auxcal.programs import log_odds

PATIENCE = 600
"""Seconds to wait for what must come; a busy machine may take its time, and only what never comes is a fault."""

SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)

settings.register_profile("auxcal", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("auxcal")


@pytest.fixture(scope="session")
def patience():
    return PATIENCE


@pytest.fixture(scope="session")
def wait_until():
    """Wait for what a condition gives, in spite of errors of one kind that it raises until then."""

    def wait(condition, *errors):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(*errors):
                if value := condition():
                    return value
            time.sleep(0.005)
        value = condition()
        assert value, "it never came to that"
        return value

    return wait


@pytest.fixture(scope="session")
def open_browser(wait_until):
    """Open Chromium with a profile; its driver gives it a minute to start, which a busy machine may exceed."""
    from selenium.common import WebDriverException
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    def opened(profile):
        options = ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for switch in (*SWITCHES, f"--user-data-dir={profile}"):
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = shutil.which("chromedriver")
        return wait_until(lambda: Chrome(options=options, service=ChromeService(driver)), WebDriverException)

    return opened


@pytest.fixture
def call(monkeypatch):
    """Run the command line in this process and return its exit code."""
    for module in ("typer", "pyarrow"):
        pytest.importorskip(module)
    from auxcal import cli

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["auxcal", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return exit_.value.code or 0

    return run


@pytest.fixture
def impatient(monkeypatch):
    """Show progress bars at once."""

    class NoTimer:
        def __init__(self, _, show):
            self.start = show

        def cancel(self):
            pass

        join = cancel

    monkeypatch.setattr("threading.Timer", NoTimer)


@pytest.fixture(scope="session", autouse=True)
def heeded_signals():
    """Let processes heed what would end them, also where the tests run in the background or under nohup."""
    for name, action in {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, action)


@pytest.fixture
def quick_training(monkeypatch):
    """Train networks for a tenth of the steps, where a test asks for a contract and not for quality."""
    monkeypatch.setattr(auxiliary, "FAST", replace(auxiliary.FAST, epochs=1, least_steps=150))


class FeaturedPlatt(Calibrator):
    """Platt scaling of the log-odds and the features: the least that uses them."""

    abbreviation = "FP"
    reference = "these tests"
    uses_features = True

    def _fit(self, data):
        if data.correct.all() or not data.correct.any():  # scikit-learn wants both
            self.coefficients_ = np.zeros(2 + data.n_features)
            return "all rows are right, or all wrong."
        x = _inputs(data.logits, data.features).T
        fitted = make_pipeline(StandardScaler(), LogisticRegression(C=100)).fit(x, data.correct)
        scale, regression = fitted[0], fitted[1]
        slopes = regression.coef_[0] / scale.scale_
        self.coefficients_ = np.append(slopes, regression.intercept_ - slopes @ scale.mean_)
        return None

    def _confidence(self, logits, features=None):
        *slopes, intercept = self.coefficients_
        return expit(np.array(slopes) @ _inputs(logits, features) + intercept).astype(logits.dtype)

    def _program(self, ops, rows):
        *slopes, intercept = self.coefficients_
        score = log_odds(ops, rows, self.n_features_in_)
        x = score if rows.features is None else ops.concatenate([score, rows.features])
        return ops.sigmoid(ops.matmul(x, ops.constant(np.array(slopes)[:, None], "slopes")) + float(intercept))


def _inputs(logits, features):
    score = top_scores(logits).astype(np.float64)[None]
    return score if features is None else np.concatenate([score, features.T])


@pytest.fixture(scope="session")
def featured_platt():
    return FeaturedPlatt


@pytest.fixture(scope="session")
def featured():
    """Give samples of three classes with two features, of which the first knows where the classifier is wrong."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(600, 3), scale=4).astype(np.float32)
    y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    y[::20] = NO_CLASS
    features = rng.normal(size=(600, 2)).astype(np.float32)
    features[:, 0] += 2 * (logits.argmax(axis=1) == y)
    return Predictions(logits, y, features)
