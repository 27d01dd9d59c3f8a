#!/bin/sh
# hyparquet with hyparquet-compressors cannot read a column of nulls alone that pyarrow wrote with the codec LZ4:
# pyarrow stores its page without values as a block of LZ4_RAW that expands to no bytes, and the decoder rejects it. pyarrow and DuckDB
# read the file, and a column with a single value is read. Exits non-zero when that changes. Needs node 20 or later, npm and python3 with venv.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --only-binary :all: pyarrow==26.0.0 duckdb==1.4.2
npm install --silent --no-audit --no-fund --prefix . hyparquet@1.31.5 hyparquet-compressors@1.1.2
venv/bin/pip list 2>/dev/null | grep -E 'pyarrow|duckdb'
npm ls --prefix . hyparquet hyparquet-compressors
venv/bin/python - <<'PYTHON'
import duckdb, pyarrow as pa, pyarrow.parquet as pq

for name, values in {"nulls": [None, None, None], "one": [None, "x", None]}.items():
    pq.write_table(pa.table({"column": pa.array(values, pa.string())}), f"{name}.parquet", compression="lz4")
    print("pyarrow", name, pq.read_table(f"{name}.parquet")["column"].to_pylist())
    print("duckdb", name, duckdb.sql(f"select * from '{name}.parquet'").fetchall())
PYTHON
cat >read.mjs <<'JS'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

const read = async (name) => {
  try {
    const file = await asyncBufferFromFile(`${name}.parquet`);
    return JSON.stringify((await parquetReadObjects({ file, compressors })).map(({ column }) => column ?? null));
  } catch (error) {
    return `error: ${error.message}`;
  }
};
const [nulls, one] = [await read('nulls'), await read('one')];
console.log('hyparquet nulls', nulls);
console.log('hyparquet one', one);
process.exit(nulls.startsWith('error: lz4') && one === '[null,"x",null]' ? 0 : 1);
JS
node read.mjs
