"""Errors for users: one class tree, each with its exit code and the command that fixes it."""

from __future__ import annotations


class MemorydError(Exception):
    """Something failed."""

    exit_code = 1

    def __init__(self, sentence: str, fix: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.fix = fix


class UsageError(MemorydError):
    """The command line makes no sense."""

    exit_code = 2


class BusyError(MemorydError):
    """Somebody else holds what this command needs."""

    exit_code = 75


class EngineStoppedError(MemorydError):
    """The model's endpoint will not work with these settings: a person has to look."""

    exit_code = 77


class EngineRestsError(BusyError):
    """The model's endpoint has trouble, or the day's budget is used up: later."""

    def __init__(self, sentence: str, fix: str = "", *, until: float | None = None) -> None:
        super().__init__(sentence, fix)
        self.until = until
        """When the endpoint is asked again; None: it was not asked."""


class ConfigError(MemorydError):
    """The config file cannot be used; a restart would not help."""

    exit_code = 78


class StateError(MemorydError):
    """A file or directory that memoryd keeps cannot be used."""


class ServiceError(MemorydError):
    """The service manager is not there, or does not do what it is asked."""


class ClientError(MemorydError):
    """A client's own settings cannot be read, understood or changed."""


class NewerStateError(StateError):
    """The state database was written by a newer memoryd; a restart would not help."""

    exit_code = 78


class CorruptStateError(StateError):
    """The state database is damaged. The daemon sets it aside and starts a new one."""
