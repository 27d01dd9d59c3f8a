#!/usr/bin/env bash
# npm ignores the npm-shrinkwrap.json of a package that is installed from a file, so the package contains its libraries
# (docs/decisions/0024-supply-chain.md). And `npm sbom --omit=dev` lacks packages that a development package needs, too.
# Needs npm. Exits with 1 when npm behaves differently.
set -eu
folder=$(mktemp -d "${HOME}/.finding-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
quiet='--silent --no-audit --no-fund --ignore-scripts'

mkdir locked && cd locked
echo '{ "name": "locked", "version": "1.0.0", "dependencies": { "ms": "2.1.2" } }' > package.json
npm install $quiet
npm shrinkwrap --silent
sed -i 's/"ms": "2.1.2"/"ms": "^2.1.2"/' package.json npm-shrinkwrap.json
npm pack --silent > /dev/null
tar xzOf locked-1.0.0.tgz package/npm-shrinkwrap.json | grep -q '"version": "2.1.2"' || { echo 'the package has no shrinkwrap'; exit 1; }
mkdir ../user && cd ../user
npm install $quiet ../locked/locked-1.0.0.tgz
installed=$(node -p "JSON.parse(require('fs').readFileSync(require.resolve('ms/package.json', { paths: ['node_modules/locked', '.'] }))).version")
echo "locked 2.1.2, installed from a file: $installed"
[ "$installed" != 2.1.2 ] || { echo 'npm obeys the shrinkwrap of a file: bundleDependencies may not be needed'; exit 1; }

mkdir ../shared && cd ../shared
echo '{ "name": "shared", "version": "1.0.0", "dependencies": { "ms": "2.1.3" }, "devDependencies": { "debug": "4.4.0" } }' > package.json
npm install $quiet --package-lock-only
count=$(npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx | grep -c '"bom-ref": "ms@' || true)
echo "entries of ms, which debug needs, too, in an SBOM without development packages: $count"
[ "$count" = 0 ] || { echo 'npm sbom lists it: tools/sbom.mjs can be simpler'; exit 1; }
