"""Which proxy, if any, stands between us and a host.

Owns the reading of the usual environment variables. Takes a scheme, a host and the environment; gives a URL or None.
"""

from collections.abc import Mapping


def proxy_for(scheme: str, host: str, env: Mapping[str, str]) -> str | None:
    """The proxy's URL. Lower-case names win over upper-case ones, a scheme's own over the general one."""
    if env.get("CODEX_SANDBOX") == "seatbelt":
        # That sandbox has no way to a proxy.
        return None
    proxy = _setting(f"{scheme}_proxy", env) or _setting("all_proxy", env)
    if not proxy or _is_exempt(host.lower().strip("[]"), _setting("no_proxy", env)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _setting(name: str, env: Mapping[str, str]) -> str:
    # In a CGI program HTTP_PROXY is a header of the request.
    upper = "" if name == "http_proxy" and "REQUEST_METHOD" in env else env.get(name.upper(), "")
    return (env.get(name) or upper).strip()


def _is_exempt(host: str, exemptions: str) -> bool:
    entries = [entry.strip().lower() for entry in exemptions.split(",")]
    return any(_covers(entry, host) for entry in entries if entry)


def _covers(entry: str, host: str) -> bool:
    if entry == "*":
        return True
    domain = entry.removeprefix("*").removeprefix(".")
    if host == domain or host.endswith(f".{domain}"):
        return True
    return _is_address_in(host, entry.strip("[]"))


def _is_address_in(host: str, network: str) -> bool:
    if not host.replace(".", "").isdigit() and ":" not in host:
        return False
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
