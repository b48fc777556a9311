"""Anime: releases of shows that feeds name become episodes in a library."""
