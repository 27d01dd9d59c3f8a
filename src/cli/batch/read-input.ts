import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { parseLine, splitLines } from '../../base/byte-lines.ts';

/** What the command line knows of an input file. The server alone judges whether it is valid. */
export interface InputFile {
  path: string;
  /** SHA-256 of its bytes, lower-case hex. */
  sha256: string;
  bytes: number;
  /** Of the requests, in their order; lines that cannot be read are left out. */
  customIds: string[];
  /** What the first request names. */
  endpoint: string;
}

export async function readInput(path: string): Promise<InputFile> {
  const hash = createHash('sha256');
  const customIds: string[] = [];
  let bytes = 0;
  let endpoint: string | undefined;
  for await (const line of splitLines(createReadStream(path))) {
    hash.update(line.bytes);
    if (line.whole) hash.update('\n');
    bytes = line.offset + line.bytes.length + (line.whole ? 1 : 0);
    const request = parseLine(line.bytes);
    if (typeof request?.custom_id === 'string') customIds.push(request.custom_id);
    if (typeof request?.url === 'string') endpoint ??= request.url;
  }
  return { path, sha256: hash.digest('hex'), bytes, customIds, endpoint: endpoint ?? '/v1/chat/completions' };
}
