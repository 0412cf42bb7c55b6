"""Takes secrets out of what a script has said of its failure, so that people can read why it failed."""

import re

PATTERNS = (
    # A block without its end, because the message was cut, counts as well.
    re.compile(r'-----BEGIN [A-Z0-9 ]*-----.*?(-----END [A-Z0-9 ]*-----|\Z)', re.DOTALL),
    # A bootstrap token has an id and a secret.
    re.compile(r'\b[a-z0-9]{6}\.[a-z0-9]{16}\b'),
    # Long base64 that is not a path.
    re.compile(r'(?<![A-Za-z0-9+/])(?=[a-z0-9+/]*[A-Z])(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{40,}={0,2}'),
)
# A shorter text may be an ordinary word of the message.
SHORTEST = 8


def redacted(message, results):
    """The message without the results of the script, whole or in parts of them, and without what looks like a secret."""
    for value in sorted((value for value in results if len(value) >= SHORTEST), key=len, reverse=True):
        message = message.replace(value, '…')
    for pattern in PATTERNS:
        message = pattern.sub('…', message)
    return message
