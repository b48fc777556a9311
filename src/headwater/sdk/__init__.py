"""The SDK for builders of fetchers: join Headwater, answer its questions, do its work, report."""
