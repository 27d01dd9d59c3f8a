// Loaded into a server process (`--import`): the file of a blob that has grown past HOLD_BLOBS_AT bytes grows no further, so
// that whoever wants to kill the server while it writes finds it writing, however long that takes.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';

const most = Number(process.env['HOLD_BLOBS_AT']);
const { open } = fs;

fs.open = async (path, ...more) => {
  const handle = await open(path, ...more);
  if (basename(dirname(String(path))) !== 'tmp') return handle;
  const write = handle.write.bind(handle) as (...args: unknown[]) => ReturnType<typeof handle.write>;
  const held = async (...args: unknown[]) => {
    const result = await write(...args);
    if ((await handle.stat()).size > most) await new Promise(() => {});
    return result;
  };
  return Object.assign(handle, { write: held });
};
syncBuiltinESMExports();
