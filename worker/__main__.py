"""Start of the zygote: `python -I -m pycodex.worker FD`, FD being its end of the supervisor's socketpair."""

import sys

from pycodex.worker.zygote import serve


def main() -> None:
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("pycodex.worker is started by pycodex itself")
    serve(int(sys.argv[1]))


if __name__ == "__main__":
    main()
