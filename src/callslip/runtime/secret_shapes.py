"""Texts that look like secrets: keys and tokens by the prefixes their makers have given them, and where they stand.

Sources: the makers' own documentation of their formats, and where there is none the rules of gitleaks and of GitHub's
secret scanning; JSON Web Tokens and encryption (RFC 7519, RFC 7516), PEM keys (RFC 7468, OpenPGP: RFC 9580).
Written for RE2, which takes time in proportion to the text whatever the text is.
"""

from __future__ import annotations

_BASE64URL = "[A-Za-z0-9_-]"
_BODY = r"(?:[A-Za-z0-9+/=\s\\,:.()]|-[A-Za-z0-9])*"
"""Of a PEM key: base64 and headers, up to the next ``--``."""

DISTINCT = (
    r"gh[pousr]_[A-Za-z0-9]{36,}",
    r"github_pat_[A-Za-z0-9_]{22,}",
    r"gl(?:pat|ptt|dt|rt|cbt|ft|imt|soat|agent|oas)-[A-Za-z0-9_=.-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    r"(?:sk|rk)_(?:live|test|prod)_[0-9A-Za-z]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
    rf"eyJ{_BASE64URL}{{10,}}\.eyJ{_BASE64URL}{{10,}}\.{_BASE64URL}{{10,}}",
    rf"eyJ{_BASE64URL}{{10,}}\.{_BASE64URL}*\.{_BASE64URL}{{16}}\.{_BASE64URL}+\.{_BASE64URL}{{22}}",
    rf"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----{_BODY}(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)?",
    r"GOCSPX-[A-Za-z0-9_-]{28}",
    r"pypi-AgE[A-Za-z0-9_-]{50,}",
    r"do[opr]_v1_[a-f0-9]{64}",
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
    r"lin_api_[A-Za-z0-9]{40}",
    r"ATATT3[A-Za-z0-9_=-]{50,}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"dckr_pat_[A-Za-z0-9_-]{27}",
    r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}",
    r"tskey-[a-z]+-[A-Za-z0-9-]{20,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
)  # fmt: skip
"""What nothing else looks like: GitHub, GitLab, Slack, AWS, Stripe, tokens, private keys, Google's client secrets,
PyPI, DigitalOcean, Shopify, Linear, Atlassian, Postman, Docker, Grafana, Tailscale, age."""

WORDS = (
    r"sk-(?:(?:proj|svcacct|admin|None|ant-[a-z0-9]+|or-v1|lf)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20,})",
    r"AIza[0-9A-Za-z_-]{35}",
    r"ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,}",
    r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    r"SK[0-9a-f]{32}\b",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    r"npm_[A-Za-z0-9]{36}",
    r"hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|pplx-[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{30,}",
    r"dapi[a-f0-9]{32}",
    r"ntn_[A-Za-z0-9]{40,}",
    r"hv[bsr]\.[A-Za-z0-9_-]{24,}|dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9]{40,}",
)
"""The same where a longer word could end like that (``task-…``), so that a word must begin there: OpenAI, Anthropic and
their like, Google, SendGrid, Twilio, Telegram, npm, Hugging Face, Groq, xAI, Perplexity, Replicate, Databricks, Notion,
Vault, Doppler."""

BEGIN = r"(^|[^A-Za-z0-9_-]|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2})"
"""Where a word begins: also after an escape of JSON or of a URL, whose last character is a letter or digit."""

_QUOTES = r"""[\\"']*"""

PLACES: tuple[tuple[str, str, str, str], ...] = (
    (r"""://[^\s:/@"'<>]*:[^\s/@"'<>]{3,}@""", r"""(://[^\s:/@"'<>\\]*:)""", r"""[^\s/@"'<>]{3,}""", "(@)"),
    ("(?i:authorization)", rf"((?i:authorization){_QUOTES}\s*[:=]\s*{_QUOTES}(?i:bearer|basic|token|apikey)\s+)",
     r"[A-Za-z0-9._~+/=-]{8,}", "()"),
    ("(?i:access_?key|session_?token)",
     rf"((?i:secret_?access_?key|aws_?session_?token){_QUOTES}\s*[:=]\s*{_QUOTES})", r"[A-Za-z0-9/+=]{40,}", "()"),
    ("(?:Account|Access)Key=", "((?:Account|SharedAccess)Key=)", r"[A-Za-z0-9+/]{40,}={0,2}", "()"),
    (r"hooks\.slack", r"(hooks\.slack\.com/(?:services|workflows|triggers)/)", r"[A-Za-z0-9/_-]{20,}", "()"),
    ("api/webhooks/", r"(discord(?:app)?\.com/api/webhooks/[0-9]+/)", r"[A-Za-z0-9_-]{40,}", "()"),
)  # fmt: skip
"""Secrets without a shape of their own, known by where they stand: a hint that every such text holds, what comes
before, the secret, what comes after. Passwords in addresses, authorization headers, AWS, Azure, webhooks of Slack and
Discord."""
