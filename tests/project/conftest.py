"""Prints how large functions and files are, so that growth is seen before it hurts."""

import pytest

from tests.support.source_tree import functions, length, modules, percentile


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("numprocesses", None):
        return  # the source was read by another process than this one
    lengths = [length(f) for module in modules() for f in functions(module)]
    files = [len(module.text.splitlines()) for module in modules()]
    terminalreporter.write_line(
        f"functions: {len(lengths)}, lines p50 {percentile(lengths, 50)},"
        f" p95 {percentile(lengths, 95)}, longest {max(lengths)}"
    )
    terminalreporter.write_line(
        f"files: {len(files)}, lines p50 {percentile(files, 50)},"
        f" p95 {percentile(files, 95)}, longest {max(files)}"
    )
