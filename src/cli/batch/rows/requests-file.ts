import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { defaultLimits } from '../../../core/batch.ts';
import type { InputPart } from '../run/read-input.ts';

const bufferBytes = 1_048_576;

/** File of batch lines, cut into parts by the limits of a batch. */
export function createRequestsFile(path: string) {
  const file = openSync(path, 'w', 0o600);
  const parts: InputPart[] = [];
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let offset = 0;
  let requests = 0;
  const drain = () => {
    let rest = Buffer.concat(waiting);
    while (rest.length > 0) rest = rest.subarray(writeSync(file, rest));
    waiting = [];
    waitingBytes = 0;
  };
  return {
    /** @param line with its newline. @returns true if it begins a part */
    add(line: Buffer): boolean {
      let part = parts.at(-1);
      const isNew =
        part === undefined ||
        part.requests === defaultLimits.requests ||
        part.bytes + line.length > defaultLimits.bytes;
      if (isNew) parts.push({ linesBefore: requests, offset, bytes: 0, requests: 0 });
      part = parts.at(-1)!;
      part.requests++;
      part.bytes += line.length;
      requests++;
      offset += line.length;
      waiting.push(line);
      waitingBytes += line.length;
      if (waitingBytes >= bufferBytes) drain();
      return isNew;
    },
    /** Makes the lines durable. */
    finish(): { parts: InputPart[]; requests: number } {
      drain();
      fsyncSync(file);
      closeSync(file);
      return { parts, requests };
    },
    discard: () => closeSync(file),
  };
}
