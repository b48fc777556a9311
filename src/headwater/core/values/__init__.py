"""Values that many areas share: ids, moments, URLs, responses, signatures."""
