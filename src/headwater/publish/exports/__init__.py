"""Everything that is kept, handed out whole: entries by the log, payloads by their ids."""
