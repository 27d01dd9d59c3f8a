#!/bin/sh
# node-llama-cpp's prebuilt CUDA library has machine code for four desktop generations only (sm_86, sm_89, sm_120a, sm_121a).
# T4, A100 and H100/H200 (sm_75, sm_80, sm_90) get PTX of CUDA 13.1, which the driver must compile.
# With a driver of CUDA 13.0 (580.159), on an H200: getLlama() lists the card, loadModel() puts all layers on it, and the first
# decode aborts the process with "the provided PTX was compiled with an unsupported toolchain". Nothing fails before that.
# The fallback for older drivers (linux-x64-cuda-ext) is machine code for sm_86 and PTX up to sm_80.
# This script needs no card: it lists what the library contains. Exits non-zero when that changes.
# Needs npm and python3 with venv; downloads 145 MB.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm pack --silent @node-llama-cpp/linux-x64-cuda@3.21.1
tar xzf node-llama-cpp-linux-x64-cuda-3.21.1.tgz
python3 -m venv venv
venv/bin/pip install --quiet --only-binary :all: nvidia-cuda-cuobjdump==13.5.37
cuobjdump=$(find venv -name cuobjdump -type f | head -n 1)
library=package/bins/linux-x64-cuda/libggml-cuda.so
kinds() { "$cuobjdump" "--list-$1" "$library" 2>/dev/null | grep -o 'sm_[0-9a-z]*' | sort -u | tr '\n' ' '; }
elf=$(kinds elf)
ptx=$(kinds ptx)
version=$("$cuobjdump" -ptx -arch sm_90 "$library" 2>/dev/null | grep -m 1 '^\.version')
echo "machine code: $elf"
echo "PTX: $ptx($version)"
[ "$elf" = 'sm_120a sm_121a sm_86 sm_89 ' ] && [ "$ptx" = 'sm_75 sm_80 sm_90 ' ] && [ "$version" = '.version 9.1' ]
