"""Webhook URLs that the service refuses, and URLs that it accepts."""

from typing import Final

# fmt: off
BY_SPELLING: Final = [
    "http://example.com/h", "ftp://example.com/", "file:///etc/passwd",
    "gopher://127.0.0.1:5432/_x", "javascript:alert(1)", "//example.com/x", "https:///x",
    "https://", "https://127.0.0.1./", "https://127.1/", "https://127.0.1/", "https://0/",
    "https://0177.0.0.1/", "https://0x7f.0.0.1/", "https://0x7f000001/", "https://2130706433/",
    "https://017700000001/", "https://127.000.000.001/", "https://[0:0:0:0:0:0:0:1]/",
    "https://[fe80::1%25eth0]/", "https://user:pass@example.com/", "https://example.com@127.0.0.1/",
    "https://127.0.0.1#@example.com/", "https://example.com\\@127.0.0.1/",
    "https://example.com:22/", "https://example.com:5432/", "https://example.com:0/",
    "https://example.com:99999/", "https://example.com:80/", "https://localhost./", "https://db/",
    "https://exa mple.com/", "https://example.com/\r\nX-A: b", "https://example.com/\x00",
    "https://ⓔxample.com/", "https://①②⑦.0.0.1/", "https://127。0。0。1/",
    "https://[2606:4700:4700:0:0:0:0:1111]/", "https://example.com:0443/", "https://127.0.0.0x1/",
    "https://" + "a." * 126 + "com/", "https://" + "a" * 64 + ".com/",
    "https://example.com/a\\b", "https://example.com/" + "a" * 2980,
]
BY_HOST: Final = [
    "https://localhost/", "https://LOCALHOST/", "https://a.localhost/", "https://127.0.0.1/",
    "https://0.0.0.0/", "https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.254/",
    "https://192.168.1.1/", "https://169.254.169.254/latest/meta-data/", "https://100.64.0.1/",
    "https://100.100.100.200/", "https://192.0.0.192/", "https://192.0.2.1/",
    "https://192.88.99.1/", "https://198.18.0.1/", "https://198.51.100.7/", "https://203.0.113.9/",
    "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/", "https://[::]/",
    "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:a9fe:a9fe]/",
    "https://[::127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::a9fe:a9fe]/",
    "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::]/",
    "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "https://[2001:db8::1]/",
    "https://[3fff::1]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[fe80::1]/",
    "https://[fec0::1]/", "https://[ff02::1]/", "https://[100::1]/", "https://[5f00::1]/",
    "https://metadata.google.internal/", "https://printer.local/", "https://168.63.129.16/",
    "https://192.31.196.1/", "https://192.52.193.1/", "https://192.175.48.1/",
    "https://[2620:4f:8000::1]/", "https://[4000::1]/",
]
# fmt: on
BY_NAME_SERVER: Final = {
    "https://private.example.com/": ["10.0.0.5"],
    "https://both.example.com/": ["93.184.216.34", "127.0.0.1"],
    "https://mapped.example.com/": ["::ffff:10.0.0.1"],
    "https://nothing.example.com/": [],
}
"""What the name server answers for each."""
ACCEPTED: Final = [
    "https://example.com/hook",
    "https://example.com:443/hook",
    "https://sub.example.co.in/a?b=c",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    "https://xn--bcher-kva.example.com/",
]
