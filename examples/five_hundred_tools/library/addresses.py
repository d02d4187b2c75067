"""Addresses of networks, pages and files; nothing is looked up or opened."""

from __future__ import annotations

import email.utils
import ipaddress
import itertools
import mimetypes
import ntpath
import posixpath
from pathlib import PurePosixPath
from urllib import parse

from library.row import rows

_IP, _NET, _U, _P, _T = "address: ip", "network: net", "url: text", "path: word", "text: text"
_PP = "path: word, other: word"
_WIN = "{} Of a Windows path."

# fmt: off
ROWS = [
    *rows("networks",
        ("ipaddress.version", lambda ip: ip.version, _IP, ("::1",), 6, "Whether an IP address is of version 4 or 6."),
        ("ipaddress.is_private", lambda ip: ip.is_private, _IP, ("192.168.0.1",), True, "Whether an IP address is of a private network."),
        ("ipaddress.is_global", lambda ip: ip.is_global, _IP, ("8.8.8.8",), True, "Whether an IP address is reachable from the whole Internet."),
        ("ipaddress.is_loopback", lambda ip: ip.is_loopback, _IP, ("127.0.0.1",), True, "Whether an IP address is a machine's own."),
        ("ipaddress.is_multicast", lambda ip: ip.is_multicast, _IP, ("224.0.0.1",), True, "Whether an IP address is for multicast."),
        ("ipaddress.is_link_local", lambda ip: ip.is_link_local, _IP, ("169.254.1.1",), True, "Whether an IP address holds for its link only."),
        ("ipaddress.is_unspecified", lambda ip: ip.is_unspecified, _IP, ("0.0.0.0",), True, "Whether an IP address is the unspecified one."),
        ("ipaddress.is_reserved", lambda ip: ip.is_reserved, _IP, ("240.0.0.1",), True, "Whether an IP address is reserved by the IETF."),
        ("ipaddress.compressed", lambda ip: ip.compressed, _IP, ("2001:db8:0:0:0:0:0:1",), "2001:db8::1", "An IP address in its shortest form."),
        ("ipaddress.exploded", lambda ip: ip.exploded, _IP, ("::1",), "0000:0000:0000:0000:0000:0000:0000:0001", "An IP address with all its digits."),
        ("ipaddress.reverse_pointer", lambda ip: ip.reverse_pointer, _IP, ("10.0.0.1",), "1.0.0.10.in-addr.arpa", "The name under which DNS keeps the reverse entry of an IP address."),
        ("ipaddress.to_int", lambda ip: str(int(ip)), _IP, ("0.0.1.0",), "256", "An IP address as a whole number."),
        ("ipaddress.from_int", ipaddress.IPv4Address, "number: 0..4294967295", (3232235777,), "192.168.1.1", "The IPv4 address of a whole number."),
        ("ipaddress.add", lambda ip, n: ip + n, "address: ip, n: -1000000..1000000", ("10.0.0.255", 1), "10.0.1.0", "The IP address so many places further on."),
        ("ipaddress.packed", lambda ip: ip.packed.hex(), _IP, ("10.0.0.1",), "0a000001", "The bytes of an IP address in hexadecimal."),
        ("ip_network.contains", lambda net, ip: ip in net, "network: net, address: ip", ("10.0.0.0/8", "10.1.2.3"), True, "Whether an IP address lies in a network."),
        ("ip_network.num_addresses", lambda net: str(net.num_addresses), _NET, ("10.0.0.0/24",), "256", "How many addresses a network has."),
        ("ip_network.netmask", lambda net: net.netmask, _NET, ("10.0.0.0/20",), "255.255.240.0", "The subnet mask of a network."),
        ("ip_network.hostmask", lambda net: net.hostmask, _NET, ("10.0.0.0/24",), "0.0.0.255", "The host mask of a network, its wildcard."),
        ("ip_network.prefixlen", lambda net: net.prefixlen, _NET, ("10.0.0.0/255.255.255.0",), 24, "How many bits the prefix of a network has."),
        ("ip_network.broadcast", lambda net: net.broadcast_address, _NET, ("10.0.0.0/24",), "10.0.0.255", "The broadcast address of a network."),
        ("ip_network.network_address", lambda net: net.network_address, _NET, ("10.0.0.77/24",), "10.0.0.0", "The first address of a network."),
        ("ip_network.hosts", lambda net: itertools.islice(net.hosts(), 100), _NET, ("10.0.0.0/30",), ["10.0.0.1", "10.0.0.2"], "The usable addresses of a network; the first hundred."),
        ("ip_network.subnets", lambda net, bits: itertools.islice(net.subnets(bits), 100), "network: net, bits: 1..8", ("10.0.0.0/24", 1), ["10.0.0.0/25", "10.0.0.128/25"], "Divide a network into smaller ones, by so many bits; the first hundred."),
        ("ip_network.supernet", lambda net, bits: net.supernet(bits), "network: net, bits: 1..8", ("10.0.1.0/24", 1), "10.0.0.0/23", "The larger network that a network lies in, by so many bits."),
        ("ip_network.overlaps", lambda a, b: a.overlaps(b), "network: net, other: net", ("10.0.0.0/8", "10.1.0.0/16"), True, "Whether two networks have addresses in common."),
        ("ip_network.subnet_of", lambda a, b: a.subnet_of(b), "network: net, other: net", ("10.1.0.0/16", "10.0.0.0/8"), True, "Whether a network lies within another."),
        ("ip_network.exclude", lambda a, b: sorted(a.address_exclude(b)), "network: net, other: net", ("10.0.0.0/30", "10.0.0.0/31"), ["10.0.0.2/31"], "What is left of a network when a smaller one is taken out."),
        ("ipaddress.summarize", lambda a, b: itertools.islice(ipaddress.summarize_address_range(a, b), 100), "first: ip, last: ip", ("10.0.0.0", "10.0.0.255"), ["10.0.0.0/24"], "The networks that cover a range of addresses."),
    ),
    *rows("web addresses",
        ("urllib.parse.quote", parse.quote, _T, ("a b/ü",), "a%20b/%C3%BC", "Percent-encode a text for a URL; slashes stay."),
        ("urllib.parse.quote_plus", parse.quote_plus, _T, ("a b&c",), "a+b%26c", "Encode a text for a URL's query, with + for blanks."),
        ("urllib.parse.unquote", parse.unquote, _T, ("a%20b",), "a b", "Decode the percent escapes of a URL."),
        ("urllib.parse.unquote_plus", parse.unquote_plus, _T, ("a+b%26c",), "a b&c", "Decode a text of a URL's query, with blanks for +."),
        ("urllib.parse.urlencode", parse.urlencode, "values: map", ({"q": "a b", "n": 1},), "q=a+b&n=1", "Write names and values as a query string."),
        ("urllib.parse.parse_qs", parse.parse_qs, "query: text", ("q=a+b&n=1&n=2",), {"q": ["a b"], "n": ["1", "2"]}, "Read a query string into names and lists of values."),
        ("urllib.parse.parse_qsl", parse.parse_qsl, "query: text", ("q=a+b&n=1",), [["q", "a b"], ["n", "1"]], "Read a query string into pairs of names and values, in their order."),
        ("urllib.parse.urlsplit", lambda url: parse.urlsplit(url)._asdict(), _U, ("https://a.org/b?c#d",), {"scheme": "https", "netloc": "a.org", "path": "/b", "query": "c", "fragment": "d"}, "Take a URL apart: scheme, host, path, query, fragment."),
        ("urllib.parse.hostname", lambda url: parse.urlsplit(url).hostname, _U, ("https://me@A.org:8080/b",), "a.org", "The host name of a URL."),
        ("urllib.parse.port", lambda url: parse.urlsplit(url).port, _U, ("https://a.org:8080/b",), 8080, "The port of a URL, if it names one."),
        ("urllib.parse.urljoin", parse.urljoin, "base: text, url: text", ("https://a.org/b/c", "../d"), "https://a.org/d", "The full address of a link that stands on a page."),
        ("urllib.parse.urldefrag", lambda url: parse.urldefrag(url).url, _U, ("https://a.org/b#c",), "https://a.org/b", "A URL without its fragment."),
        ("email.utils.parseaddr", email.utils.parseaddr, "text: word", ("Ana Lee <ana@x.org>",), ["Ana Lee", "ana@x.org"], "Take an e-mail address apart: the name and the address."),
        ("email.utils.formataddr", lambda name, address: email.utils.formataddr((name, address)), "name: word, address: word", ("Ana Lee", "ana@x.org"), "Ana Lee <ana@x.org>", "A name and an e-mail address as a header writes them."),
        ("email.utils.getaddresses", lambda text: email.utils.getaddresses([text]), "text: word", ("Ana <a@x.org>, b@y.org",), [["Ana", "a@x.org"], ["", "b@y.org"]], "Names and addresses of an e-mail's list of recipients."),
    ),
    *rows("file names",
        ("posixpath.basename", posixpath.basename, _P, ("/a/b.txt",), "b.txt", "The last part of a path: the file's name."),
        ("posixpath.dirname", posixpath.dirname, _P, ("/a/b.txt",), "/a", "A path without its last part: the folder."),
        ("posixpath.join", posixpath.join, _PP, ("/a", "b.txt"), "/a/b.txt", "Put a folder and a name together as a path."),
        ("posixpath.normpath", posixpath.normpath, _P, ("/a/./b/../c",), "/a/c", "A path without . and .. and doubled slashes."),
        ("posixpath.isabs", posixpath.isabs, _P, ("a/b",), False, "Whether a path begins at the root."),
        ("posixpath.split", posixpath.split, _P, ("/a/b.txt",), ["/a", "b.txt"], "The folder and the file's name of a path."),
        ("posixpath.splitext", posixpath.splitext, _P, ("/a/b.tar.gz",), ["/a/b.tar", ".gz"], "A path and its extension, apart."),
        ("posixpath.commonpath", posixpath.commonpath, "paths: texts", (["/a/b/c", "/a/b/d"],), "/a/b", "The folder that several paths have in common."),
        ("posixpath.commonprefix", posixpath.commonprefix, "texts: texts", (["flower", "flow", "flight"],), "fl", "The beginning that several texts have in common."),
        ("posixpath.relpath", lambda path, other: posixpath.relpath(posixpath.join("/", path), posixpath.join("/", other)), _PP, ("/a/b/c", "/a/d"), "../b/c", "A path as seen from a folder."),
        ("ntpath.basename", ntpath.basename, _P, ("C:\\a\\b.txt",), "b.txt", _WIN.format("The file's name.")),
        ("ntpath.dirname", ntpath.dirname, _P, ("C:\\a\\b.txt",), "C:\\a", _WIN.format("The folder.")),
        ("ntpath.splitdrive", ntpath.splitdrive, _P, ("C:\\a",), ["C:", "\\a"], _WIN.format("The drive and the rest.")),
        ("ntpath.splitext", ntpath.splitext, _P, ("C:\\b.txt",), ["C:\\b", ".txt"], _WIN.format("The extension, and what stands before it.")),
        ("ntpath.normpath", ntpath.normpath, _P, ("C:/a/../b",), "C:\\b", _WIN.format("Backslashes and no detours.")),
        ("ntpath.join", ntpath.join, _PP, ("C:\\a", "b"), "C:\\a\\b", _WIN.format("A folder and a name put together.")),
        ("PurePath.stem", lambda path: PurePosixPath(path).stem, _P, ("/a/b.txt",), "b", "A file's name without its extension."),
        ("PurePath.suffix", lambda path: PurePosixPath(path).suffix, _P, ("/a/b.txt",), ".txt", "A file's extension."),
        ("PurePath.suffixes", lambda path: PurePosixPath(path).suffixes, _P, ("b.tar.gz",), [".tar", ".gz"], "All extensions of a file."),
        ("PurePath.parts", lambda path: PurePosixPath(path).parts, _P, ("/a/b",), ["/", "a", "b"], "The parts of a path as a list."),
        ("PurePath.parent", lambda path: PurePosixPath(path).parent, _P, ("/a/b",), "/a", "The folder above."),
        ("PurePath.with_name", lambda path, name: PurePosixPath(path).with_name(name), "path: word, name: word", ("/a/b.txt", "c.md"), "/a/c.md", "A path with another file name in the same folder."),
        ("PurePath.with_suffix", lambda path, suffix: PurePosixPath(path).with_suffix(suffix), "path: word, suffix: word", ("/a/b.txt", ".md"), "/a/b.md", "A path with another extension."),
        ("PurePath.is_relative_to", lambda path, other: PurePosixPath(path).is_relative_to(other), _PP, ("/a/b", "/a"), True, "Whether a path lies below a folder."),
        ("PurePath.match", lambda path, pattern: PurePosixPath(path).match(pattern), "path: word, pattern: word", ("/a/b.py", "*.py"), True, "Whether a path matches a wildcard pattern."),
        ("mimetypes.guess_type", lambda name: mimetypes.MimeTypes().guess_type(name)[0], "name: word", ("photo.png",), "image/png", "The media type of a file, by its name."),
        ("mimetypes.guess_extension", lambda kind: mimetypes.MimeTypes().guess_extension(kind), "kind: word", ("application/pdf",), ".pdf", "The extension that files of a media type have."),
    ),
]
