// Loaded into a server process (`--import`): a write to a blob never finishes once its file exceeds HOLD_BLOBS_AT
// bytes, so that a test can kill the server during a write.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';

const maxBytes = Number(process.env['HOLD_BLOBS_AT']);
const { open } = fs;

fs.open = async (path, ...more) => {
  const handle = await open(path, ...more);
  if (basename(dirname(String(path))) !== 'tmp') return handle;
  const write = handle.write.bind(handle) as (...args: unknown[]) => ReturnType<typeof handle.write>;
  const held = async (...args: unknown[]) => {
    const result = await write(...args);
    if ((await handle.stat()).size > maxBytes) await new Promise(() => {});
    return result;
  };
  return Object.assign(handle, { write: held });
};
syncBuiltinESMExports();
